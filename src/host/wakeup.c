/*-------------------------------------------------------------------------
 *
 * wakeup.c
 *	  How late a thread wakes up.  See wakeup.h.
 *
 *-------------------------------------------------------------------------
 */
#include "host/wakeup.h"

#include "core/clock.h"

void
nn_wakeup_start(NnWakeup *wakeup, uint64_t interval_ns)
{
	wakeup->interval_ns = interval_ns;
	wakeup->next_ns = nn_now_ns() + interval_ns;
	wakeup->skipped = 0;
	nn_histogram_reset(&wakeup->lateness);
}

void
nn_wakeup_run(NnWakeup *wakeup, uint64_t until_ns)
{
	while (wakeup->next_ns < until_ns)
	{
		uint64_t	now_ns;
		uint64_t	missed;

		nn_sleep_until_ns(wakeup->next_ns);
		now_ns = nn_now_ns();
		if (now_ns < wakeup->next_ns)	/* a signal woke it up */
			continue;
		nn_histogram_record(&wakeup->lateness, now_ns - wakeup->next_ns);
		missed = (now_ns - wakeup->next_ns) / wakeup->interval_ns;
		wakeup->skipped += missed;
		wakeup->next_ns += (missed + 1) * wakeup->interval_ns;
	}
}
