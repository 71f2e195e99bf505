/*-------------------------------------------------------------------------
 *
 * parse.h
 *	  Reading the kernel's text files without stdio and without the locale.
 *
 * For the files of host/ only.  Numbers are parsed by hand: the kernel writes
 * plain digits, and the C library's functions may follow lc_numeric.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_PARSE_H
#define NN_HOST_PARSE_H

#include "host/host.h"

/* Room for a root and the longest path below it that the kernel gives. */
#define NN_PATH_LEN		5120

/* A file read line by line: /proc/stat and mountinfo have no useful upper size. */
typedef struct NnLines
{
	int			fd;
	size_t		at;
	size_t		length;
	char		buf[4096];
} NnLines;

/* False with the reason; nothing is to be closed then. */
extern bool nn_lines_open(NnLines *lines, const char *path, NnWhyNot *why);

/* The next line without its end, cut to size - 1 characters; false after the last one. */
extern bool nn_lines_next(NnLines *lines, char *line, size_t size);
extern void nn_lines_close(NnLines *lines);

/* Put a path together; false, and cut, when it does not fit. */
extern bool nn_path(char *path, size_t size, const char *fmt,...) __attribute__((format(printf, 3, 4)));

/*
 * Each skips blanks, reads at "*at" and moves it behind what was read; false,
 * with "*at" where it was, when there is no number or it does not fit.
 */
extern bool nn_parse_u64(const char **at, uint64_t *value);
extern bool nn_parse_i64(const char **at, int64_t *value);

extern const char *nn_skip_blanks(const char *at);

/* Move "*at" behind "prefix" if the text begins with it. */
extern bool nn_parse_prefix(const char **at, const char *prefix);

/* The first line of a file, blanks cut off its end; false with the reason when empty or unreadable. */
extern bool nn_read_word(const char *path, char *word, size_t size, NnWhyNot *why);

/* A file that holds one number. */
extern bool nn_read_i64(const char *path, int64_t *value, NnWhyNot *why);

#endif							/* NN_HOST_PARSE_H */
