/*-------------------------------------------------------------------------
 *
 * fake_files.h
 *	  Files in memory in place of /proc and /sys.
 *
 * The sources of src/host are compiled with "open" and its like renamed to these, so that a harness
 * costs no system call and reads nothing of this machine.  The content is one text, where a line
 *
 *	 =PATH [FLAGS]
 *
 * begins the file PATH and the next such line ends it (an empty line after the "=" ends all).  Flags:
 * "o" opening it fails, "r" reading it fails (as files of /proc/pressure do), "s" reads give a few bytes
 * each.  Folders are there when a file is below them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_FAKE_FILES_H
#define NN_FAKE_FILES_H

#include <stddef.h>

/* Use this text, which must stay as long as the files are used.  Nothing may be open. */
extern void fake_files_use(const char *text, size_t size);

/* Number of files that are open. */
extern int	fake_files_open(void);

#endif							/* NN_FAKE_FILES_H */
