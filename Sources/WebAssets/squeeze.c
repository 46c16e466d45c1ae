#include "squeeze.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "huffman.h"

enum { length_min = 3, length_max = 258, window = 32768, literals = 286, distances = 30,
       end_of_block = 256, rounds = 15, hashes = 1 << 15, blocks_max = 8, samples = 12 };

/// A literal byte, or a match.
typedef struct {
  unsigned short length;  // 0: a literal
  unsigned short value;   // the byte or the distance
} step;

typedef struct {
  unsigned uses[literals], distance_uses[distances];
} statistics;

/// A block's two codes, and what tells them (RFC 1951 §3.2.7).
typedef struct {
  unsigned char widths[literals + distances];
  unsigned literal_count, distance_count;
  unsigned char told[literals + distances], extra[literals + distances];
  unsigned told_count;
  unsigned char told_widths[19];
  unsigned told_width_count;
} codes;

typedef struct {
  const unsigned char *text;
  unsigned long length;
  unsigned short *nearest;  // for each place and length the distance of the nearest match
  unsigned short *longest;
  float *costs;
  unsigned short *ways;
  step *steps, *trial;
} search;

typedef struct {
  unsigned char *at, *end;
  unsigned long bits;
  unsigned count;
} writer;

static const unsigned short length_base[] = {
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258, 259};
static const unsigned char length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const unsigned char told_order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};

static unsigned length_symbol(unsigned length) {
  unsigned symbol = 0;
  while (length_base[symbol + 1] <= length) symbol += 1;
  return symbol;
}

static unsigned distance_bits(unsigned symbol) { return symbol < 4 ? 0 : symbol / 2 - 1; }

static unsigned distance_base(unsigned symbol) {
  return symbol < 4 ? symbol + 1 : ((2 + symbol % 2) << distance_bits(symbol)) + 1;
}

static unsigned distance_symbol(unsigned distance) {
  if (distance < 5) return distance - 1;
  const unsigned high = 31 - (unsigned)__builtin_clz(distance - 1);
  return 2 * high + ((distance - 1) >> (high - 1) & 1);
}

// MARK: matches

static unsigned hash(const unsigned char *at) {
  return (at[0] ^ (unsigned)at[1] << 5 ^ (unsigned)at[2] << 10) % hashes;
}

/// For every place, the nearest match of every length.
static bool find_matches(search *in) {
  long *const heads = malloc(hashes * sizeof *heads);
  long *const before = malloc((in->length + 1) * sizeof *before);
  if (!heads || !before) return free(heads), free(before), false;
  memset(heads, -1, hashes * sizeof *heads);
  for (unsigned long i = 0; i + length_min <= in->length; i += 1) {
    unsigned short *const nearest = in->nearest + i * (length_max + 1);
    const unsigned long left = in->length - i;
    const unsigned long most = left < length_max ? left : length_max;
    unsigned long best = length_min - 1;
    const unsigned key = hash(in->text + i);
    for (long at = heads[key]; at >= 0 && i - (unsigned long)at <= window && best < most;
         at = before[at]) {
      unsigned long length = 0;
      while (length < most && in->text[(unsigned long)at + length] == in->text[i + length]) {
        length += 1;
      }
      for (; best < length; best += 1) {
        nearest[best + 1] = (unsigned short)(i - (unsigned long)at);
      }
    }
    in->longest[i] = best < length_min ? 0 : (unsigned short)best;
    before[i] = heads[key];
    heads[key] = (long)i;
  }
  free(heads);
  free(before);
  return true;
}

// MARK: codes

static void tell(codes *of, unsigned symbol, unsigned extra) {
  of->told[of->told_count] = (unsigned char)symbol;
  of->extra[of->told_count++] = (unsigned char)extra;
}

/// The widths as runs: 16 repeats the last one, 17 and 18 are zeros.
static void tell_widths(codes *of, unsigned uses[19]) {
  unsigned char all[literals + distances];
  memcpy(all, of->widths, of->literal_count);
  memcpy(all + of->literal_count, of->widths + literals, of->distance_count);
  const unsigned count = of->literal_count + of->distance_count;
  of->told_count = 0;
  for (unsigned i = 0; i < count;) {
    unsigned run = 1;
    while (i + run < count && all[i + run] == all[i]) run += 1;
    i += run;
    const unsigned char width = all[i - 1];
    if (width > 0) {
      tell(of, width, 0);
      run -= 1;
    }
    while (run > 0) {
      const unsigned most = width > 0 ? 6 : run > 10 ? 138 : 10;
      const unsigned part = run < most ? run : most;
      if (part < 3) tell(of, width, 0);
      else tell(of, width > 0 ? 16 : most == 10 ? 17 : 18, part - (most == 138 ? 11 : 3));
      run -= part < 3 ? 1 : part;
    }
  }
  memset(uses, 0, 19 * sizeof *uses);
  for (unsigned i = 0; i < of->told_count; i += 1) uses[of->told[i]] += 1;
}

static unsigned told_bits(unsigned symbol) {
  return symbol < 16 ? 0 : symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
}

/// Makes the codes. Returns how many bits the block has in all.
static unsigned long make_codes(const statistics *from, codes *into) {
  unsigned uses[19];
  chirrup_widths(from->uses, literals, 15, into->widths);
  chirrup_widths(from->distance_uses, distances, 15, into->widths + literals);
  into->literal_count = literals;
  while (into->widths[into->literal_count - 1] == 0) into->literal_count -= 1;
  into->distance_count = distances;
  while (into->widths[literals + into->distance_count - 1] == 0) into->distance_count -= 1;
  tell_widths(into, uses);
  chirrup_widths(uses, 19, 7, into->told_widths);
  into->told_width_count = 19;
  while (into->told_widths[told_order[into->told_width_count - 1]] == 0) {
    into->told_width_count -= 1;
  }
  unsigned long bits = 3 + 14 + 3 * into->told_width_count;
  for (unsigned i = 0; i < into->told_count; i += 1) {
    bits += into->told_widths[into->told[i]] + told_bits(into->told[i]);
  }
  for (unsigned i = 0; i < literals; i += 1) {
    const unsigned extra = i > end_of_block ? length_bits[i - end_of_block - 1] : 0;
    bits += (unsigned long)from->uses[i] * (into->widths[i] + extra);
  }
  for (unsigned i = 0; i < distances; i += 1) {
    bits += (unsigned long)from->distance_uses[i] * (into->widths[literals + i] + distance_bits(i));
  }
  return bits;
}

static void count(const step *steps, unsigned long number, statistics *into) {
  *into = (statistics){0};
  for (unsigned long i = 0; i < number; i += 1) {
    if (steps[i].length == 0) {
      into->uses[steps[i].value] += 1;
    } else {
      into->uses[end_of_block + 1 + length_symbol(steps[i].length)] += 1;
      into->distance_uses[distance_symbol(steps[i].value)] += 1;
    }
  }
  into->uses[end_of_block] = 1;
}

static unsigned long size_of(const step *steps, unsigned long number) {
  statistics all;
  codes made;
  count(steps, number, &all);
  return make_codes(&all, &made);
}

// MARK: the cheapest way

/// The binary logarithm, so that no library of mathematics is needed.
static float logarithm(float of) {
  float result = 0;
  for (; of >= 2; of /= 2) result += 1;
  for (float part = 0.5F; part > 0.0005F; part /= 2) {
    of *= of;
    if (of >= 2) {
      of /= 2;
      result += part;
    }
  }
  return result;
}

/// What a symbol costs is what it is worth in bits, in the statistics of the last round.
static void price(const unsigned *uses, unsigned symbols, float *costs) {
  float sum = 0;
  for (unsigned i = 0; i < symbols; i += 1) sum += (float)uses[i];
  for (unsigned i = 0; i < symbols; i += 1) {
    costs[i] = logarithm(sum + 1) - (uses[i] > 0 ? logarithm((float)uses[i]) : 0);
  }
}

/// The cheapest way from one place to another. Returns the number of steps.
static unsigned long walk(search *in, unsigned long from, unsigned long end,
                          const statistics *known, step *steps) {
  float literal_costs[literals], distance_costs[distances], length_costs[length_max + 1];
  price(known->uses, literals, literal_costs);
  price(known->distance_uses, distances, distance_costs);
  for (unsigned length = length_min; length <= length_max; length += 1) {
    const unsigned symbol = length_symbol(length);
    length_costs[length] = literal_costs[end_of_block + 1 + symbol] + length_bits[symbol];
  }
  for (unsigned i = 0; i < distances; i += 1) distance_costs[i] += (float)distance_bits(i);
  for (unsigned long i = from; i <= end; i += 1) in->costs[i] = 1e30F;
  in->costs[from] = 0;
  for (unsigned long i = from; i < end; i += 1) {
    const unsigned short *const nearest = in->nearest + i * (length_max + 1);
    const float literal = in->costs[i] + literal_costs[in->text[i]];
    if (literal < in->costs[i + 1]) {
      in->costs[i + 1] = literal;
      in->ways[i + 1] = 1;
    }
    for (unsigned long length = length_min; length <= in->longest[i] && i + length <= end;
         length += 1) {
      const float cost = in->costs[i] + length_costs[length] +
                         distance_costs[distance_symbol(nearest[length])];
      if (cost < in->costs[i + length]) {
        in->costs[i + length] = cost;
        in->ways[i + length] = (unsigned short)length;
      }
    }
  }
  unsigned long number = 0;
  for (unsigned long at = end; at > from; at -= in->ways[at]) number += 1;
  unsigned long place = number;
  for (unsigned long at = end; at > from;) {
    const unsigned long length = in->ways[at];
    at -= length;
    steps[--place] = length == 1
        ? (step){.value = in->text[at]}
        : (step){.length = (unsigned short)length,
                 .value = in->nearest[at * (length_max + 1) + length]};
  }
  return number;
}

/// The best of some rounds, each with the statistics of the one before.
static unsigned long find_way(search *in, unsigned long from, unsigned long end, step *steps) {
  statistics known;
  unsigned long best = ~0UL, number = 0;
  for (unsigned i = 0; i < literals; i += 1) known.uses[i] = 1;
  for (unsigned i = 0; i < distances; i += 1) known.distance_uses[i] = 1;
  for (unsigned round = 0; round < rounds; round += 1) {
    const unsigned long found = walk(in, from, end, &known, in->trial);
    const unsigned long bits = size_of(in->trial, found);
    count(in->trial, found, &known);
    if (bits >= best) continue;
    best = bits;
    number = found;
    memcpy(steps, in->trial, found * sizeof *steps);
  }
  return number;
}

// MARK: blocks

/// Where a block is best split in two, or its end where that gains nothing.
static unsigned long split(const step *steps, unsigned long from, unsigned long end) {
  const unsigned long whole = size_of(steps + from, end - from);
  unsigned long low = from + 1, high = end, best = whole, place = end;
  while (high > low + 1) {
    const unsigned long width = (high - low) / samples + 1;
    unsigned long nearest = low;
    unsigned long least = ~0UL;
    for (unsigned long at = low; at < high; at += width) {
      const unsigned long bits = size_of(steps + from, at - from) + size_of(steps + at, end - at);
      if (bits >= least) continue;
      least = bits;
      nearest = at;
    }
    if (least < best) {
      best = least;
      place = nearest;
    }
    low = nearest > low + width ? nearest - width + 1 : low;
    high = nearest + width < high ? nearest + width : high;
    if (width == 1) break;
  }
  return place;
}

static unsigned split_all(const step *steps, unsigned long number, unsigned long *ends) {
  unsigned count = 1;
  ends[0] = number;
  for (unsigned i = 0; i < count && count < blocks_max;) {
    const unsigned long from = i > 0 ? ends[i - 1] : 0;
    const unsigned long place = split(steps, from, ends[i]);
    if (place == ends[i]) {
      i += 1;
      continue;
    }
    memmove(ends + i + 1, ends + i, (count - i) * sizeof *ends);
    ends[i] = place;
    count += 1;
  }
  return count;
}

// MARK: writing

static void put(writer *to, unsigned long bits, unsigned count) {
  to->bits |= bits << to->count;
  to->count += count;
  for (; to->count >= 8; to->count -= 8, to->bits >>= 8) {
    if (to->at < to->end) *to->at = (unsigned char)to->bits;
    to->at += 1;
  }
}

static void put_block(writer *to, const step *steps, unsigned long number, bool is_last) {
  statistics all;
  codes made;
  unsigned short literal_codes[literals], distance_codes[distances], told_codes[19];
  count(steps, number, &all);
  make_codes(&all, &made);
  chirrup_codes(made.widths, literals, literal_codes);
  chirrup_codes(made.widths + literals, distances, distance_codes);
  chirrup_codes(made.told_widths, 19, told_codes);
  put(to, is_last, 1);
  put(to, 2, 2);
  put(to, made.literal_count - 257, 5);
  put(to, made.distance_count - 1, 5);
  put(to, made.told_width_count - 4, 4);
  for (unsigned i = 0; i < made.told_width_count; i += 1) {
    put(to, made.told_widths[told_order[i]], 3);
  }
  for (unsigned i = 0; i < made.told_count; i += 1) {
    const unsigned symbol = made.told[i];
    put(to, told_codes[symbol], made.told_widths[symbol]);
    put(to, made.extra[i], told_bits(symbol));
  }
  for (unsigned long i = 0; i <= number; i += 1) {
    const unsigned length = i < number ? steps[i].length : 0;
    const unsigned symbol = length > 0 ? length_symbol(length) : 0;
    const unsigned literal = i == number ? end_of_block
        : length > 0 ? end_of_block + 1 + symbol : steps[i].value;
    put(to, literal_codes[literal], made.widths[literal]);
    if (length == 0) continue;
    const unsigned distance = distance_symbol(steps[i].value);
    put(to, length - length_base[symbol], length_bits[symbol]);
    put(to, distance_codes[distance], made.widths[literals + distance]);
    put(to, steps[i].value - distance_base(distance), distance_bits(distance));
  }
}

static unsigned check_sum(const unsigned char *text, unsigned long length) {
  unsigned sum = ~0U;
  for (unsigned long i = 0; i < length; i += 1) {
    sum ^= text[i];
    for (unsigned bit = 0; bit < 8; bit += 1) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320U : 0);
  }
  return ~sum;
}

/// One way over the whole text shows where its kinds change; then each block has its own.
static unsigned long write_out(search *in, unsigned char *out) {
  unsigned long ends[blocks_max], from = 0, step_at = 0;
  const unsigned long number = find_way(in, 0, in->length, in->steps);
  const unsigned count = split_all(in->steps, number, ends);
  for (unsigned i = 0; i < count; i += 1) {  // from steps to bytes
    unsigned long end = from;
    for (; step_at < ends[i]; step_at += 1) {
      end += in->steps[step_at].length > 0 ? in->steps[step_at].length : 1;
    }
    ends[i] = from = end;
  }
  static const unsigned char head[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3};  // RFC 1952
  writer to = {.at = out, .end = out + in->length};
  for (unsigned i = 0; i < sizeof head; i += 1) put(&to, head[i], 8);
  from = 0;
  for (unsigned i = 0; i < count; i += 1) {
    put_block(&to, in->steps, find_way(in, from, ends[i], in->steps), i + 1 == count);
    from = ends[i];
  }
  put(&to, 0, (8 - to.count) % 8);
  put(&to, check_sum(in->text, in->length), 32);
  put(&to, in->length, 32);
  return to.at < to.end ? (unsigned long)(to.at - out) : 0;
}

unsigned long chirrup_squeeze(
    const unsigned char *text, unsigned long length, unsigned char *out) {
  search in = {.text = text, .length = length};
  const unsigned long places = length + 1;
  in.nearest = calloc(places * (length_max + 1), sizeof *in.nearest);
  in.longest = calloc(places, sizeof *in.longest);
  in.costs = calloc(places, sizeof *in.costs);
  in.ways = calloc(places, sizeof *in.ways);
  in.steps = calloc(places, sizeof *in.steps);
  in.trial = calloc(places, sizeof *in.trial);
  const bool has_memory =
      in.nearest && in.longest && in.costs && in.ways && in.steps && in.trial;
  const unsigned long squeezed = has_memory && find_matches(&in) ? write_out(&in, out) : 0;
  free(in.nearest);
  free(in.longest);
  free(in.costs);
  free(in.ways);
  free(in.steps);
  free(in.trial);
  return squeezed;
}
