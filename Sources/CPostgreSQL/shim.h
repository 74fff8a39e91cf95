// libpq 15: connections, results, COPY and notifications.
#ifndef OPENPUSHD_CPOSTGRESQL_SHIM_H
#define OPENPUSHD_CPOSTGRESQL_SHIM_H

#include <libpq-fe.h>

#endif
