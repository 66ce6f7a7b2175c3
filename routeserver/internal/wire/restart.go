package wire

import "time"

// Restart is the content of the graceful restart capabilities of an OPEN: that of RFC 4724 section 3, with the bit of
// RFC 8538, and the one for long-lived graceful restart (RFC 9494 section 3.1), which counts only beside the first.
type Restart struct {
	Offered      bool // the capability is there
	Restarting   bool // the speaker has restarted, and others should not wait for its End-of-RIB before they send theirs
	Notification bool // a NOTIFICATION ends the session gracefully, unless it is a hard reset
	Seconds      uint16
	Families     [Families]bool // families whose routes may be kept while the speaker restarts
	Forwarding   [Families]bool // families whose packets it went on forwarding meanwhile

	LongLived      bool                    // the other capability is there
	LongStale      [Families]time.Duration // time for which routes may be kept after the restart time; 0: not at all
	LongForwarding [Families]bool          // Forwarding, for routes kept beyond the restart time
}

// The longest times that the capabilities can express.
const (
	MaxRestart   = (1<<12 - 1) * time.Second
	MaxLongStale = (1<<24 - 1) * time.Second
)
