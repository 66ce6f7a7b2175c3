package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Codes of a NOTIFICATION (RFC 4271 section 4.5, RFC 4486, RFC 7313, RFC 8538, RFC 9687).
const (
	HeaderError        = 1
	OpenError          = 2
	UpdateError        = 3
	HoldTimerExpired   = 4
	FSMError           = 5
	Cease              = 6
	RefreshError       = 7
	SendHoldExpired    = 8
	NotSynchronised    = 1 // of HeaderError
	BadLength          = 2
	BadType            = 3
	BadVersion         = 1 // of OpenError
	BadPeerAS          = 2
	BadIdentifier      = 3
	BadParameter       = 4
	BadHoldTime        = 6
	BadCapability      = 7
	MalformedList      = 1 // of UpdateError
	UnknownWellKnown   = 2
	InvalidNetwork     = 10
	MaxPrefixes        = 1 // of Cease
	AdminShutdown      = 2
	Deconfigured       = 3
	AdminReset         = 4
	Rejected           = 5
	OtherConfiguration = 6
	Collision          = 7
	HardReset          = 9
	UnexpectedOpen     = 1 // of FSMError (RFC 6608): in OpenSent
	UnexpectedConfirm  = 2 // in OpenConfirm
	UnexpectedUp       = 3 // in Established
)

var errorNames = map[uint8]string{
	HeaderError: "message header error", OpenError: "OPEN error", UpdateError: "UPDATE error",
	HoldTimerExpired: "hold timer expired", FSMError: "FSM error", Cease: "cease",
	RefreshError: "ROUTE-REFRESH error", SendHoldExpired: "send hold timer expired",
}

var ceaseNames = map[uint8]string{
	MaxPrefixes: "too many routes", AdminShutdown: "administrative shutdown", Deconfigured: "peer removed",
	AdminReset: "administrative reset", Rejected: "connection rejected", OtherConfiguration: "other configuration change", Collision: "connection collision",
	HardReset: "hard reset",
}

// Notification is a NOTIFICATION message and, as an error, the reason why a session ends.
type Notification struct {
	Code, Subcode uint8
	Data          []byte
	Text          string // for users; not on the wire
	Received      bool   // the neighbour sent it
	Hard          bool   // as a hard reset, which carries the rest (RFC 8538): graceful restart keeps nothing
}

// Error describes the notification.
func (n *Notification) Error() string {
	name := errorNames[n.Code]
	if name == "" {
		name = "unknown error"
	}
	if sub := ceaseNames[n.Subcode]; n.Code == Cease && sub != "" {
		name += ", " + sub
	}
	who := "sent"
	if n.Received {
		who = "received"
	}
	text := fmt.Sprintf("NOTIFICATION %s: %d/%d %s", who, n.Code, n.Subcode, name)
	if n.Hard && n.Subcode != HardReset {
		text += ", hard reset"
	}
	if n.Text != "" {
		text += " (" + n.Text + ")"
	}
	return text
}

var errorClasses = map[uint8]string{
	HeaderError: "message-header", OpenError: "open", UpdateError: "update", HoldTimerExpired: "hold-timer", FSMError: "fsm",
	Cease: "cease", RefreshError: "route-refresh", SendHoldExpired: "send-hold",
}

// ErrorClass returns the reason for the end of a connection in one word: the kind of its NOTIFICATION, or transport.
func ErrorClass(err error) string {
	n := (*Notification)(nil)
	if !errors.As(err, &n) {
		return "transport"
	}
	if class := errorClasses[n.Code]; class != "" {
		return class
	}
	return "unknown"
}

// Message encodes the notification.
func (n *Notification) Message() []byte {
	m := header(make([]byte, 0, HeaderLength+4+len(n.Data)), TypeNotification)
	if n.Hard && n.Subcode != HardReset {
		m = append(m, Cease, HardReset)
	}
	m = append(m, n.Code, n.Subcode)
	m = append(m, n.Data...)
	return finish(m, 0)
}

// Final reports whether nothing of the session should be kept after it (RFC 8538 section 5): the neighbour must be
// gone, or must change.
func (n *Notification) Final() bool {
	return n.Code == Cease && (n.Subcode == MaxPrefixes || n.Subcode == AdminShutdown || n.Subcode == Deconfigured || n.Subcode == HardReset)
}

// Harden returns the same reason as a hard reset.
func (n *Notification) Harden() *Notification {
	hard := *n
	hard.Hard = true
	return &hard
}

// ParseNotification reads the body of a NOTIFICATION that the neighbour sent.
func ParseNotification(body []byte) *Notification {
	if len(body) < 2 {
		return &Notification{Code: 0, Received: true, Text: "truncated"}
	}
	n := &Notification{Code: body[0], Subcode: body[1], Data: append([]byte(nil), body[2:]...), Received: true}
	if n.Code == Cease && n.Subcode == HardReset {
		n.Hard = true
		if len(n.Data) >= 2 && errorNames[n.Data[0]] != "" { // gobgp 4.8 leaves the codes out
			n.Code, n.Subcode, n.Data = n.Data[0], n.Data[1], n.Data[2:]
		}
	}
	// RFC 9003: a shutdown may give a reason.
	if n.Code == Cease && (n.Subcode == AdminShutdown || n.Subcode == AdminReset) && len(n.Data) > 1 && int(n.Data[0]) == len(n.Data)-1 {
		n.Text = fmt.Sprintf("%q", n.Data[1:])
	}
	return n
}

// Shutdown returns a Cease with a reason. The neighbour gets the text where RFC 9003 has a place for it: with an
// administrative shutdown or reset.
func Shutdown(subcode uint8, reason string) *Notification {
	n := &Notification{Code: Cease, Subcode: subcode, Text: reason}
	if subcode == AdminShutdown || subcode == AdminReset {
		text := strings.ToValidUTF8(reason[:min(len(reason), 255)], "")
		n.Data = append([]byte{byte(len(text))}, text...)
	}
	return n
}
