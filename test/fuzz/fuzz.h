/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  What the fuzzing harnesses share.
 *
 * A harness is one fuzz_NAME.c with one function that is handed arbitrary bytes and must
 * neither misbehave nor find a property broken, see require().  With clang it is linked with
 * libFuzzer; without, and for the replay of the corpus in the tests, with replay.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_FUZZ_H
#define NN_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The name is libFuzzer's. */
extern int	LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* A property that holds for every input. */
#define require(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#endif							/* NN_FUZZ_H */
