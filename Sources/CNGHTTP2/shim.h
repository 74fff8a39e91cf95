// libnghttp2 1.52 (Debian 12): sessions, HPACK and the error names.
#ifndef OPENPUSHD_CNGHTTP2_SHIM_H
#define OPENPUSHD_CNGHTTP2_SHIM_H

#include <nghttp2/nghttp2.h>

#endif
