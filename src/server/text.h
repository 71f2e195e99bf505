/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Text that came from elsewhere, made fit for the database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_TEXT_H
#define NN_TEXT_H

/*
 * Replace, in place, each byte that is not part of a character of the database's encoding by a
 * question mark; drop a last character that was cut.
 */
extern void nn_text_repair(char *text);

#endif							/* NN_TEXT_H */
