/*-------------------------------------------------------------------------
 *
 * fake_files.c
 *	  Files in memory in place of /proc and /sys.  See fake_files.h.
 *
 *-------------------------------------------------------------------------
 */
#include "fake_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

/* What happens here is nothing that a fuzzer should look for. */
#ifdef __clang__
#pragma clang attribute push (__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif

#define MAX_FILES	256
#define MAX_OPEN	16
#define FIRST_FD	100000		/* never a real one */
#define SHORT_READ	3

typedef struct FakeFile
{
	const char *path;			/* not terminated; NULL: a folder that is open */
	size_t		path_length;
	const char *content;
	size_t		size;
	char		flags[4];
} FakeFile;

typedef struct OpenFile
{
	bool		used;
	FakeFile	file;
	size_t		at;
} OpenFile;

/* What the standard's opaque type is here: an open folder. */
struct __dirstream
{
	char		prefix[512];
	int			next;
	struct dirent entry;
};

static FakeFile files[MAX_FILES];
static int	n_files;
static OpenFile open_files[MAX_OPEN];
static struct __dirstream folder;
static bool folder_open;

extern int	fake_open(const char *path, int flags,...);
extern ssize_t fake_read(int fd, void *buf, size_t size);
extern int	fake_close(int fd);
extern int	fake_access(const char *path, int mode);
extern DIR *fake_opendir(const char *path);
extern struct dirent *fake_readdir(DIR *dir);
extern int	fake_closedir(DIR *dir);

static const char *
line_end(const char *at, const char *end)
{
	const char *found = memchr(at, '\n', (size_t) (end - at));

	return found != NULL ? found : end;
}

static void
begin_file(const char *at, const char *end)
{
	const char *space = memchr(at, ' ', (size_t) (end - at));
	FakeFile   *file = &files[n_files++];
	size_t		n;

	memset(file, 0, sizeof(*file));
	file->path = at;
	file->path_length = (size_t) ((space != NULL ? space : end) - at);
	if (space == NULL)
		return;
	n = (size_t) (end - space - 1);
	memcpy(file->flags, space + 1, n < sizeof(file->flags) ? n : sizeof(file->flags) - 1);
}

void
fake_files_use(const char *text, size_t size)
{
	const char *end = text + size;
	const char *at = text;

	require(fake_files_open() == 0);
	n_files = 0;
	while (at < end)
	{
		const char *next = line_end(at, end);

		if (*at == '=')
		{
			if (at + 1 >= next || n_files == MAX_FILES)
				return;
			begin_file(at + 1, next);
			files[n_files - 1].content = next < end ? next + 1 : end;
		}
		else if (n_files > 0)
			files[n_files - 1].size = (size_t) ((next < end ? next + 1 : end) - files[n_files - 1].content);
		at = next < end ? next + 1 : end;
	}
}

int
fake_files_open(void)
{
	int			n = folder_open;
	int			i;

	for (i = 0; i < MAX_OPEN; i++)
		n += open_files[i].used;
	return n;
}

/* The kernel takes two slashes for one. */
static bool
same_path(const FakeFile *file, const char *path, bool below)
{
	size_t		n = 0;

	for (; *path != '\0'; path++)
	{
		if (path[0] == '/' && path[1] == '/')
			continue;
		if (n == file->path_length || file->path[n] != *path)
			return false;
		n++;
	}
	return below ? n < file->path_length && file->path[n] == '/' : n == file->path_length;
}

static const FakeFile *
find_file(const char *path)
{
	int			i;

	for (i = 0; i < n_files; i++)
		if (same_path(&files[i], path, false))
			return &files[i];
	return NULL;
}

static bool
is_folder(const char *path)
{
	int			i;

	for (i = 0; i < n_files; i++)
		if (same_path(&files[i], path, true))
			return true;
	return false;
}

int
fake_open(const char *path, int flags,...)
{
	const FakeFile *file = find_file(path);
	int			fd = 0;

	if (file == NULL && !is_folder(path))
	{
		errno = ENOENT;
		return -1;
	}
	if (file != NULL && strchr(file->flags, 'o') != NULL)
	{
		errno = EACCES;
		return -1;
	}
	while (fd < MAX_OPEN && open_files[fd].used)
		fd++;
	require(fd < MAX_OPEN && (flags & O_ACCMODE) == O_RDONLY && (flags & O_CLOEXEC) != 0);
	memset(&open_files[fd], 0, sizeof(open_files[fd]));
	open_files[fd].used = true;
	if (file != NULL)
		open_files[fd].file = *file;
	return FIRST_FD + fd;
}

static OpenFile *
find_open(int fd)
{
	require(fd >= FIRST_FD && fd < FIRST_FD + MAX_OPEN && open_files[fd - FIRST_FD].used);
	return &open_files[fd - FIRST_FD];
}

ssize_t
fake_read(int fd, void *buf, size_t size)
{
	OpenFile   *file = find_open(fd);
	size_t		n = file->file.size - file->at;

	if (file->file.path == NULL || strchr(file->file.flags, 'r') != NULL)
	{
		errno = file->file.path == NULL ? EISDIR : EOPNOTSUPP;
		return -1;
	}
	if (n > size)
		n = size;
	if (n > SHORT_READ && strchr(file->file.flags, 's') != NULL)
		n = SHORT_READ;
	if (n > 0)
		memcpy(buf, file->file.content + file->at, n);
	file->at += n;
	return (ssize_t) n;
}

int
fake_close(int fd)
{
	find_open(fd)->used = false;
	return 0;
}

int
fake_access(const char *path, int mode)
{
	require(mode == F_OK);
	return find_file(path) != NULL || is_folder(path) ? 0 : -1;
}

DIR *
fake_opendir(const char *path)
{
	if (!is_folder(path))
		return NULL;
	require(!folder_open && strlen(path) < sizeof(folder.prefix));
	folder_open = true;
	folder.next = 0;
	strcpy(folder.prefix, path);
	return &folder;
}

/* The name below the folder of each file; one name as often as files are below it. */
struct dirent *
fake_readdir(DIR *dir)
{
	while (dir->next < n_files)
	{
		const FakeFile *file = &files[dir->next++];
		const char *name;
		size_t		length;

		if (!same_path(file, dir->prefix, true))
			continue;
		name = file->path + strlen(dir->prefix) + 1;
		length = (size_t) (file->path + file->path_length - name);
		if (memchr(name, '/', length) != NULL)
			length = (size_t) ((const char *) memchr(name, '/', length) - name);
		if (length == 0 || length >= sizeof(dir->entry.d_name))
			continue;
		memcpy(dir->entry.d_name, name, length);
		dir->entry.d_name[length] = '\0';
		return &dir->entry;
	}
	return NULL;
}

int
fake_closedir(DIR *dir)
{
	require(dir == &folder && folder_open);
	folder_open = false;
	return 0;
}

#ifdef __clang__
#pragma clang attribute pop
#endif
