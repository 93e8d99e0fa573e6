package inputs

import (
	"bytes"
	"encoding/json"
)

// OrderedObject is a JSON object whose members keep their order.
type OrderedObject[V any] []Member[V]

// Member is a member of an [OrderedObject].
type Member[V any] struct {
	Name  string
	Value V
}

// MarshalJSON writes {} for nil.
func (m OrderedObject[V]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(member.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(member.Value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
