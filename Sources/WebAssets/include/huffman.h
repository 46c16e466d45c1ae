// Prefix codes as RFC 1951 has them.
#pragma once

/// How many bits each symbol gets, none more than `limit` (at most 15), so that all together are
/// fewest. At least two symbols get a code. There are at most 288.
void chirrup_widths(
    const unsigned *uses, unsigned symbols, unsigned limit, unsigned char *widths);

/// The codes of these widths (§3.2.2), with the bit that goes out first as the lowest.
void chirrup_codes(const unsigned char *widths, unsigned symbols, unsigned short *codes);
