package ruleset

import "encoding/json"

// The operations' names on the wire.
const (
	SetPeer        = "set-peer"
	RemovePeer     = "remove-peer"
	SetEndpoint    = "set-endpoint"
	RemoveEndpoint = "remove-endpoint" // also takes the endpoint out of every pool
	SetVcp         = "set-vcp"         // makes the pool or replaces its members
	RemoveVcp      = "remove-vcp"
	Join           = "join"
	Leave          = "leave"
)

// UnmarshalJSON reads an operation. Its fields `endpoint` and `vcp` are objects or names, depending on Op.
func (o *Operation) UnmarshalJSON(data []byte) error {
	var kind struct {
		Op string `json:"op"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return invalid("", "is not an operation: %s", err)
	}
	*o = Operation{Op: kind.Op}
	switch kind.Op {
	case SetPeer:
		var v struct {
			Op   string `json:"op"`
			Peer *Peer  `json:"peer"`
		}
		err := decode(data, &v)
		o.Peer = v.Peer
		return present(err, "peer", v.Peer != nil)
	case SetEndpoint:
		var v struct {
			Op       string    `json:"op"`
			Endpoint *Endpoint `json:"endpoint"`
		}
		err := decode(data, &v)
		o.Endpoint = v.Endpoint
		return present(err, "endpoint", v.Endpoint != nil)
	case SetVcp:
		var v struct {
			Op  string `json:"op"`
			Vcp *Vcp   `json:"vcp"`
		}
		err := decode(data, &v)
		o.Vcp = v.Vcp
		return present(err, "vcp", v.Vcp != nil)
	case RemovePeer, RemoveEndpoint, RemoveVcp:
		var v struct {
			Op   string `json:"op"`
			Name string `json:"name"`
		}
		err := decode(data, &v)
		o.Name = v.Name
		return present(err, "name", v.Name != "")
	case Join, Leave:
		var v struct {
			Op       string `json:"op"`
			Vcp      string `json:"vcp"`
			Endpoint string `json:"endpoint"`
		}
		err := present(decode(data, &v), "vcp", v.Vcp != "")
		o.Pool, o.Member = v.Vcp, v.Endpoint
		return present(err, "endpoint", v.Endpoint != "")
	}
	return invalid("op", "%q is not an operation", kind.Op)
}

// MarshalJSON writes an operation as UnmarshalJSON reads it.
func (o Operation) MarshalJSON() ([]byte, error) {
	v := map[string]any{"op": o.Op}
	switch o.Op {
	case SetPeer:
		v["peer"] = o.Peer
	case SetEndpoint:
		v["endpoint"] = o.Endpoint
	case SetVcp:
		v["vcp"] = o.Vcp
	case Join, Leave:
		v["vcp"], v["endpoint"] = o.Pool, o.Member
	default:
		v["name"] = o.Name
	}
	return json.Marshal(v)
}

func present(err error, field string, there bool) error {
	if err == nil && !there {
		return invalid(field, "is missing")
	}
	return err
}
