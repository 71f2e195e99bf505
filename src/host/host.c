/*-------------------------------------------------------------------------
 *
 * host.c
 *	  Reading small files of the kernel, and reasons for people.
 *
 * Plain open and read, no stdio: nothing is allocated, and a file of /proc
 * is read in as few calls as its size allows.
 *
 *-------------------------------------------------------------------------
 */
#include "host/host.h"
#include "host/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
nn_why_not(NnWhyNot *why, const char *fmt,...)
{
	va_list		args;

	if (why == NULL)
		return;
	va_start(args, fmt);
	vsnprintf(why->reason, sizeof(why->reason), fmt, args);
	va_end(args);
}

bool
nn_path(char *path, size_t size, const char *fmt,...)
{
	va_list		args;
	int			n;

	va_start(args, fmt);
	n = vsnprintf(path, size, fmt, args);
	va_end(args);
	return n >= 0 && (size_t) n < size;
}

/*
 * strerror is neither safe in threads everywhere nor independent of the
 * locale; these are the errors that such files give.
 */
static void
say_error(NnWhyNot *why, const char *path, int error)
{
	switch (error)
	{
		case ENOENT:
		case ENOTDIR:
			nn_why_not(why, "%s does not exist", path);
			break;
		case EACCES:
		case EPERM:
			nn_why_not(why, "%s may not be read", path);
			break;
		case ESRCH:
			nn_why_not(why, "%s: the process is gone", path);
			break;
		case EISDIR:
			nn_why_not(why, "%s is a directory", path);
			break;
		case EOPNOTSUPP:
			nn_why_not(why, "%s is there, but the kernel has it turned off", path);
			break;
		case EMFILE:
		case ENFILE:
			nn_why_not(why, "%s: too many open files", path);
			break;
		default:
			nn_why_not(why, "%s could not be read (error %d)", path, error);
			break;
	}
}

static int
open_file(const char *path, NnWhyNot *why)
{
	int			fd;

	do
		fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		say_error(why, path, errno);
	return fd;
}

static ssize_t
read_some(int fd, char *buf, size_t size)
{
	ssize_t		n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n;
}

ssize_t
nn_read_file(const char *path, char *buf, size_t size, NnWhyNot *why)
{
	size_t		length = 0;
	ssize_t		n;
	int			fd = open_file(path, why);

	if (fd < 0)
		return -1;
	while ((n = read_some(fd, buf + length, size - length)) > 0)
	{
		length += (size_t) n;
		if (length == size)
		{
			close(fd);
			nn_why_not(why, "%s is longer than %zu bytes", path, size - 1);
			return -1;
		}
	}
	if (n < 0)
	{
		say_error(why, path, errno);
		close(fd);
		return -1;
	}
	close(fd);
	buf[length] = '\0';
	return (ssize_t) length;
}

bool
nn_lines_open(NnLines *lines, const char *path, NnWhyNot *why)
{
	ssize_t		n;

	lines->fd = open_file(path, why);
	if (lines->fd < 0)
		return false;

	/* The first read tells whether the file can be read at all. */
	n = read_some(lines->fd, lines->buf, sizeof(lines->buf));
	if (n < 0)
	{
		say_error(why, path, errno);
		close(lines->fd);
		return false;
	}
	lines->at = 0;
	lines->length = (size_t) n;
	return true;
}

/* The next character, or -1 at the end or on an error. */
static int
next_char(NnLines *lines)
{
	if (lines->at == lines->length)
	{
		ssize_t		n = read_some(lines->fd, lines->buf, sizeof(lines->buf));

		if (n <= 0)
			return -1;
		lines->at = 0;
		lines->length = (size_t) n;
	}
	return (unsigned char) lines->buf[lines->at++];
}

bool
nn_lines_next(NnLines *lines, char *line, size_t size)
{
	size_t		n = 0;
	int			c;

	c = next_char(lines);
	if (c < 0)
		return false;
	for (; c >= 0 && c != '\n'; c = next_char(lines))
		if (n < size - 1)
			line[n++] = (char) c;
	line[n] = '\0';
	return true;
}

void
nn_lines_close(NnLines *lines)
{
	close(lines->fd);
}

const char *
nn_skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

bool
nn_parse_u64(const char **at, uint64_t *value)
{
	const char *p = nn_skip_blanks(*at);
	uint64_t	result = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
	{
		uint64_t	digit = (uint64_t) (*p - '0');

		if (result > (UINT64_MAX - digit) / 10)
			return false;
		result = result * 10 + digit;
	}
	*value = result;
	*at = p;
	return true;
}

bool
nn_parse_i64(const char **at, int64_t *value)
{
	const char *p = nn_skip_blanks(*at);
	bool		negative = *p == '-';
	uint64_t	magnitude;

	if (negative)
		p++;
	if (*p < '0' || *p > '9' || !nn_parse_u64(&p, &magnitude) || magnitude > INT64_MAX)
		return false;
	*value = negative ? -(int64_t) magnitude : (int64_t) magnitude;
	*at = p;
	return true;
}

bool
nn_parse_prefix(const char **at, const char *prefix)
{
	size_t		n = strlen(prefix);

	if (strncmp(*at, prefix, n) != 0)
		return false;
	*at += n;
	return true;
}

bool
nn_read_word(const char *path, char *word, size_t size, NnWhyNot *why)
{
	NnLines		lines;
	size_t		n;
	bool		found;

	word[0] = '\0';
	if (!nn_lines_open(&lines, path, why))
		return false;
	found = nn_lines_next(&lines, word, size);
	nn_lines_close(&lines);
	for (n = strlen(word); n > 0 && (word[n - 1] == ' ' || word[n - 1] == '\t'); n--)
		word[n - 1] = '\0';
	if (!found || word[0] == '\0')
	{
		nn_why_not(why, "%s is empty", path);
		return false;
	}
	return true;
}

bool
nn_read_i64(const char *path, int64_t *value, NnWhyNot *why)
{
	char		word[64];
	const char *at = word;

	if (!nn_read_word(path, word, sizeof(word), why))
		return false;
	if (!nn_parse_i64(&at, value))
	{
		nn_why_not(why, "%s does not hold a number", path);
		return false;
	}
	return true;
}
