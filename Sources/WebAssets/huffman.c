#include "huffman.h"

#include <stdlib.h>
#include <string.h>

enum { symbols_max = 288, width_max = 15 };

typedef struct {
  unsigned long weight;
  unsigned short symbol;  // of a leaf
  unsigned short left, right;  // of a package, in the row above; 0, 0: a leaf
} node;

static int by_weight(const void *one, const void *two) {
  const node *const a = one, *const b = two;
  if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
  return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

static void count(node rows[][2 * symbols_max], unsigned row, unsigned at, unsigned char *widths) {
  const node *const it = &rows[row][at];
  if (it->left == it->right) {
    widths[it->symbol] += 1;
    return;
  }
  count(rows, row - 1, it->left, widths);
  count(rows, row - 1, it->right, widths);
}

/// Package-merge (Larmore and Hirschberg 1990): each row holds the symbols and the pairs of the row
/// above, in the order of their weights; how often a symbol is in the cheapest of the last row is
/// its width.
void chirrup_widths(
    const unsigned *uses, unsigned symbols, unsigned limit, unsigned char *widths) {
  static _Thread_local node rows[width_max][2 * symbols_max], leaves[symbols_max];
  unsigned used = 0, length = 0;
  memset(widths, 0, symbols);
  for (unsigned i = 0; i < symbols; i += 1) {
    if (uses[i] > 0) leaves[used++] = (node){.weight = uses[i], .symbol = (unsigned short)i};
  }
  for (unsigned i = 0; used < 2 && i < symbols; i += 1) {  // inflate wants two
    if (uses[i] == 0) leaves[used++] = (node){.weight = 0, .symbol = (unsigned short)i};
  }
  qsort(leaves, used, sizeof *leaves, by_weight);
  for (unsigned row = 0; row < limit; row += 1) {
    const unsigned pairs = length / 2;
    unsigned leaf = 0, pair = 0;
    length = 0;
    while (leaf < used || pair < pairs) {
      const node *const above = row > 0 ? &rows[row - 1][2 * pair] : NULL;
      const unsigned long weight = pair < pairs ? above[0].weight + above[1].weight : 0;
      if (pair >= pairs || (leaf < used && leaves[leaf].weight <= weight)) {
        rows[row][length++] = leaves[leaf++];
      } else {
        rows[row][length++] = (node){.weight = weight, .left = (unsigned short)(2 * pair),
                                     .right = (unsigned short)(2 * pair + 1)};
        pair += 1;
      }
    }
  }
  for (unsigned i = 0; i < 2 * used - 2; i += 1) count(rows, limit - 1, i, widths);
}

void chirrup_codes(const unsigned char *widths, unsigned symbols, unsigned short *codes) {
  unsigned code = 0;
  for (unsigned width = 1; width <= width_max; width += 1) {
    for (unsigned i = 0; i < symbols; i += 1) {
      if (widths[i] != width) continue;
      unsigned turned = 0;
      for (unsigned bit = 0; bit < width; bit += 1) turned |= (code >> bit & 1) << (width - 1 - bit);
      codes[i] = (unsigned short)turned;
      code += 1;
    }
    code <<= 1;
  }
}
