// zlib 1.2.13 (Debian 12): inflating.
#ifndef OPENPUSHD_CZLIB_SHIM_H
#define OPENPUSHD_CZLIB_SHIM_H

#include <zlib.h>

// inflateInit2, which is a macro.
static inline int openpushd_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }

#endif
