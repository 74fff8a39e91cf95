// What Glibc's Swift module leaves out: epoll, event and signal descriptors, and calls hidden behind _GNU_SOURCE.
#ifndef OPENPUSHD_CLINUX_SHIM_H
#define OPENPUSHD_CLINUX_SHIM_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>

// Hidden without _GNU_SOURCE; prototypes as in accept4(2), pipe2(2), pthread_setname_np(3) and glibc's spawn.h.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
extern int pipe2(int descriptors[2], int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
// A posix_spawn_file_actions_t; with spawn.h here, sigset_t would belong to this module and not to Glibc.
extern int posix_spawn_file_actions_addchdir_np(void *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int first);

#endif
