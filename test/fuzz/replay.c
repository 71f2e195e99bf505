/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  main() of a harness without libFuzzer: hands it every file of a corpus, once.
 *
 * Prints the number of files.  An input that breaks something ends the program, after its
 * name was printed.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

/* A copy that ends where its memory ends, so that a sanitizer sees a read beyond it. */
static void
replay(const char *path)
{
	FILE	   *file = fopen(path, "rb");
	unsigned char *data;
	long		size;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
	{
		perror(path);
		exit(2);
	}
	rewind(file);
	data = malloc(size > 0 ? (size_t) size : 1);
	if (data == NULL || fread(data, 1, (size_t) size, file) != (size_t) size)
	{
		perror(path);
		exit(2);
	}
	fclose(file);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, (size_t) size);
	free(data);
}

int
main(int argc, char **argv)
{
	int			n = 0;
	int			i;

	for (i = 1; i < argc; i++)
	{
		DIR		   *dir = opendir(argv[i]);
		struct dirent *entry;
		char		path[4096];

		if (dir == NULL)
		{
			perror(argv[i]);
			return 2;
		}
		while ((entry = readdir(dir)) != NULL)
		{
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			replay(path);
			n++;
		}
		closedir(dir);
	}
	printf("%d\n", n);
	return n > 0 ? 0 : 2;
}
