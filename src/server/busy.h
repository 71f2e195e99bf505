/*-------------------------------------------------------------------------
 *
 * busy.h
 *	  One load at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_BUSY_H
#define NN_BUSY_H

/*
 * Raise an error that names the run or the calibration that is on in this cluster, if one is. One that is
 * about to end is waited for, so that the next can follow it at once.
 */
extern void nn_refuse_if_busy(void);

#endif							/* NN_BUSY_H */
