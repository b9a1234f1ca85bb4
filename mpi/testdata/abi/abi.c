/* A library with the standard ABI of MPI 5 that passes calls on to MPICH. It takes exactly the constants that MPI 5.0 fixes:
   another value ends the process. The test builds it: cc -shared -fPIC -o libmpi_abi.so.0 abi.c -ldl */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

enum { WORLD = 257, ERRORS_RETURN = 323, SUM = 33, BYTE = 583, FLOAT = 528, DOUBLE = 532, FUNNELED = 1024, SERIALIZED = 2048 };

static void *mpich(const char *name) {
  static void *library;
  if (!library && !(library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL))) {
    fprintf(stderr, "abi: %s\n", dlerror());
    exit(99);
  }
  void *f = dlsym(library, name);
  if (!f) {
    fprintf(stderr, "abi: no %s\n", name);
    exit(99);
  }
  return f;
}

static int known(const char *what, handle h, intptr_t standard, int ours) {
  if ((intptr_t)h == standard) return ours;
  fprintf(stderr, "abi: %s is %ld, want %ld\n", what, (long)(intptr_t)h, (long)standard);
  exit(98);
}

static int comm(handle h) { return known("communicator", h, WORLD, 0x44000000); }

static int type(handle h) {
  switch ((intptr_t)h) {
  case FLOAT: return 0x4c00040a;
  case DOUBLE: return 0x4c00080b;
  }
  return known("data type", h, BYTE, 0x4c00010d);
}

static const void *from(const void *buffer) { return buffer == (void *)1 ? (void *)-1 : buffer; } /* MPI_IN_PLACE */

int MPI_Abi_get_version(int *major, int *minor) {
  *major = getenv("ABI_MAJOR") ? atoi(getenv("ABI_MAJOR")) : 1;
  *minor = 0;
  return 0;
}

int MPI_Get_version(int *version, int *subversion) {
  *version = getenv("ABI_MPI_VERSION") ? atoi(getenv("ABI_MPI_VERSION")) : 5;
  *subversion = 0;
  return 0;
}

int MPI_Get_library_version(char *text, int *length) {
  *length = sprintf(text, "Test of the standard ABI\nover MPICH");
  return 0;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  if (required != FUNNELED && required != SERIALIZED) known("thread level", (handle)(intptr_t)required, FUNNELED, 0);
  int level, code = ((int (*)(int *, char ***, int, int *))mpich("MPI_Init_thread"))(argc, argv, required / 1024, &level);
  *provided = level == 3 ? 4096 : level * 1024;
  return code;
}

int MPI_Comm_set_errhandler(handle c, handle h) {
  return ((int (*)(int, int))mpich("MPI_Comm_set_errhandler"))(comm(c), known("error handler", h, ERRORS_RETURN, 0x54000001));
}

int MPI_Comm_rank(handle c, int *rank) { return ((int (*)(int, int *))mpich("MPI_Comm_rank"))(comm(c), rank); }

int MPI_Comm_size(handle c, int *size) { return ((int (*)(int, int *))mpich("MPI_Comm_size"))(comm(c), size); }

int MPI_Allreduce(const void *send, void *receive, int count, handle t, handle op, handle c) {
  return ((int (*)(const void *, void *, int, int, int, int))mpich("MPI_Allreduce"))(from(send), receive, count, type(t),
                                                                                     known("operation", op, SUM, 0x58000003), comm(c));
}

int MPI_Bcast(void *buffer, int count, handle t, int root, handle c) {
  return ((int (*)(void *, int, int, int, int))mpich("MPI_Bcast"))(buffer, count, type(t), root, comm(c));
}

typedef int (*exchange)(const void *, int, int, void *, int, int, int);

int MPI_Allgather(const void *send, int n, handle t, void *receive, int m, handle u, handle c) {
  return ((exchange)mpich("MPI_Allgather"))(from(send), n, type(t), receive, m, type(u), comm(c));
}

int MPI_Alltoall(const void *send, int n, handle t, void *receive, int m, handle u, handle c) {
  return ((exchange)mpich("MPI_Alltoall"))(from(send), n, type(t), receive, m, type(u), comm(c));
}

int MPI_Barrier(handle c) { return ((int (*)(int))mpich("MPI_Barrier"))(comm(c)); }

int MPI_Error_string(int code, char *text, int *length) {
  return ((int (*)(int, char *, int *))mpich("MPI_Error_string"))(code, text, length);
}

int MPI_Abort(handle c, int code) { return ((int (*)(int, int))mpich("MPI_Abort"))(comm(c), code); }

int MPI_Finalize(void) { return ((int (*)(void))mpich("MPI_Finalize"))(); }
