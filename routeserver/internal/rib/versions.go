package rib

import (
	"slices"

	"weft/routeserver/internal/wire"
)

// mostVersions bounds how many replaced versions of one route are remembered.
const mostVersions = 16

// Replaced records that a peer replaced a label block by another one with the same key. A peer that distinguishes blocks by
// the whole NLRI, as gobgp does, withdraws the old one afterwards.
func (in *In) Replaced(key, old, present string) {
	list := slices.DeleteFunc(in.replaced[key], func(nlri string) bool {
		return wire.SameBlock(nlri, present) || wire.SameBlock(nlri, old)
	})
	if len(list) == mostVersions {
		list = list[1:]
	}
	if !wire.SameBlock(old, present) {
		list = append(list, old)
	}
	in.remember(key, list)
}

// Late reports whether a withdrawal is that of a block that the peer replaced. It says so once for each.
func (in *In) Late(key, nlri string) bool {
	list := in.replaced[key]
	i := slices.IndexFunc(list, func(old string) bool { return wire.SameBlock(old, nlri) })
	if i < 0 {
		return false
	}
	in.remember(key, slices.Delete(list, i, i+1))
	return true
}

// Renew forgets the replaced versions at the start of a session: the new session does not withdraw them.
func (in *In) Renew() {
	for key := range in.replaced {
		in.remember(key, nil)
	}
	in.replaced = nil
}

// remember stores a list as the replaced versions of a route.
func (in *In) remember(key string, list []string) {
	in.bytes += versionBytes * (len(list) - len(in.replaced[key]))
	if len(list) == 0 {
		delete(in.replaced, key)
		return
	}
	if in.replaced == nil {
		in.replaced = map[string][]string{}
	}
	in.replaced[key] = list
}
