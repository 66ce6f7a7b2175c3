package wire

// Restart is what the graceful restart capability of an OPEN says (RFC 4724 section 3).
type Restart struct {
	Offered    bool // the capability is there
	Restarting bool // the speaker has restarted, and nobody should wait for its End-of-RIB before sending their own
	Seconds    uint16
	Families   [Families]bool // whose routes may be kept while the speaker restarts
	Forwarding [Families]bool // whose packets it went on forwarding meanwhile
}

// MaxRestart is the longest restart time that the capability can say, in seconds.
const MaxRestart = 1<<12 - 1
