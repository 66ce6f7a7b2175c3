#include "pattern.h"

#include <string.h>

void pattern_write(uint8_t *to, size_t length, uint64_t seed, uint64_t position)
{
    while (length) {
        uint64_t word = pattern_word(seed, position / 8);
        size_t skip = position % 8, n = 8 - skip < length ? 8 - skip : length;
        memcpy(to, (uint8_t *)&word + skip, n);
        to += n;
        position += n;
        length -= n;
    }
}

uint64_t pattern_check(const uint8_t *from, size_t length, uint64_t seed, uint64_t position, uint64_t *first)
{
    uint64_t wrong = 0;
    while (length) {
        uint64_t word = pattern_word(seed, position / 8);
        size_t skip = position % 8, n = 8 - skip < length ? 8 - skip : length;
        if (memcmp(from, (uint8_t *)&word + skip, n))
            for (size_t i = 0; i < n; i++)
                if (from[i] != ((uint8_t *)&word)[skip + i] && !wrong++)
                    *first = position + i;
        from += n;
        position += n;
        length -= n;
    }
    return wrong;
}
