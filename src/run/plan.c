/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  The order of the blocks of a run.  See plan.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "core/random.h"
#include "run/plan.h"

static int
blocks_per_repeat(int n_doses)
{
	return n_doses == 0 ? 1 : n_doses + 2;
}

uint64
nn_plan_count(int n_clients, int n_doses, int repeats)
{
	return (uint64) n_clients * repeats * blocks_per_repeat(n_doses);
}

/* Fisher and Yates */
static void
shuffle(NnRandom *random, double *x, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int			j = (int) nn_random_range(random, 0, i);
		double		swap = x[i];

		x[i] = x[j];
		x[j] = swap;
	}
}

void
nn_plan_make(const int32 *clients, int n_clients, const double *doses, int n_doses,
			 int repeats, uint64 seed, NnPlanBlock *plan)
{
	NnRandom	random;
	double	   *order = palloc(sizeof(double) * Max(n_doses, 1));
	int			per_repeat = blocks_per_repeat(n_doses);
	int			n = 0;

	nn_random_seed(&random, seed, 0);
	for (int c = 0; c < n_clients; c++)
		for (int r = 1; r <= repeats; r++)
		{
			memcpy(order, doses, sizeof(double) * n_doses);
			shuffle(&random, order, n_doses);
			for (int i = 0; i < per_repeat; i++)
			{
				bool		baseline = (i == 0 || i == per_repeat - 1);

				plan[n].block = n + 1;
				plan[n].repeat = r;
				plan[n].clients = clients[c];
				plan[n].level_pct = baseline ? 0.0 : order[i - 1];
				n++;
			}
		}
	pfree(order);
}
