/*-------------------------------------------------------------------------
 *
 * tranche.h
 *	  The tranche of the lock of the lock probe: its number, and its name in wait events.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_TRANCHE_H
#define NN_TRANCHE_H

/* wait_event of whoever waits for the lock of the lock probe. */
#define NN_LOCK_PROBE_TRANCHE "noisy_lock_probe"

/* Where the library is preloaded: have the name known in every process. */
extern void nn_tranche_request(void);

/* A number for a lock that is made now; this process knows its name. */
extern int	nn_tranche_obtain(void);

/* Have this process show the name of a number that another one has obtained. */
extern void nn_tranche_learn(int tranche);

#endif							/* NN_TRANCHE_H */
