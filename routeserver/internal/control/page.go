package control

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// pageBytes bounds the list in a reply: one route may have 64 KB of communities, each of them a number in text. A page
// has at least one item, whatever its length.
const pageBytes = 8 << 20

// fitting returns the encoded beginning of a list that fits into a reply; cut reports whether there is more.
func fitting[T any](n int, item func(i int) T) (list []json.RawMessage, cut bool, err error) {
	list = []json.RawMessage{}
	for i, size := 0, 0; i < n; i++ {
		text, err := json.Marshal(item(i))
		if err != nil {
			return nil, false, err
		}
		if size += len(text); size > pageBytes && i > 0 {
			return list, true, nil
		}
		list = append(list, text)
	}
	return list, false, nil
}

// routeLimit is the default number of items in a page, and pageRoutes the maximum, whatever the request asks for. A limit
// above routeLimitMax is invalid.
const (
	routeLimit    = 1000
	pageRoutes    = 10_000
	routeLimitMax = 10_000_000
)

// pageOf returns the number of items that a page may have, and the place after which it begins.
func pageOf(q url.Values) (limit int, after engine.Place, err error) {
	limit = routeLimit
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > routeLimitMax {
			return 0, after, &ruleset.Invalid{Field: "limit", Message: fmt.Sprintf("%q is not a number from 1 to %d", text, routeLimitMax)}
		}
	}
	after, err = parseCursor(q.Get("cursor"))
	return min(limit, pageRoutes), after, err
}

// cursor encodes the route after which the next page begins.
func cursor(p engine.Place) string {
	text := fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", p.Family, p.Peer, p.Other, p.Key)
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string) (p engine.Place, err error) {
	if text == "" {
		return p, nil
	}
	bad := &ruleset.Invalid{Field: "cursor", Message: "is not one that a page has given"}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return p, bad
	}
	parts := bytes.SplitN(decoded, []byte{0}, 4)
	if len(parts) != 4 {
		return p, bad
	}
	family, err := strconv.ParseUint(string(parts[0]), 10, 8)
	if err != nil || wire.Family(family) >= wire.Families || len(parts[1]) == 0 {
		return p, bad
	}
	return engine.Place{Peer: string(parts[1]), Family: wire.Family(family), Key: string(parts[3]), Other: string(parts[2])}, nil
}
