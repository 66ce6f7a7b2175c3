/* Bytes that say where they belong: byte i of a pattern depends on the seed and on i alone, and no two stretches of
 * it are alike, so that what is lost, doubled, moved or changed is seen. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t pattern_word(uint64_t seed, uint64_t index)
{
    uint64_t x = (seed * 0xd6e8feb86659fd93u ^ seed >> 32) + index * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* Writes bytes `position` to `position + length` of the pattern. */
void pattern_write(uint8_t *to, size_t length, uint64_t seed, uint64_t position);

/* How many of the bytes are not the pattern's; if any, `*first` is the position of the first. */
uint64_t pattern_check(const uint8_t *from, size_t length, uint64_t seed, uint64_t position, uint64_t *first);

#endif
