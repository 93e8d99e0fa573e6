package wire

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// enum is an enumeration of the wire. The name of each value but UNSPECIFIED is the SDK's word
// in upper case, after the prefix that all of them share.
type enum interface {
	~int32
	protoreflect.Enum
}

// toEnum returns the wire value of an SDK value. A value without one is sent as the zero value,
// which the reader's fallback interprets.
func toEnum[P enum, W ~string](word W) P {
	values := P(0).Descriptor().Values()
	for i := 1; i < values.Len(); i++ {
		if value := P(values.Get(i).Number()); fromEnum(value, W("")) == word {
			return value
		}
	}
	return 0
}

// fromEnum returns the SDK value of a wire value, or fallback.
func fromEnum[P enum, W ~string](value P, fallback W) W {
	values := value.Descriptor().Values()
	known := values.ByNumber(value.Number())
	if known == nil || value == 0 {
		return fallback
	}
	prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
	return W(strings.ToLower(strings.TrimPrefix(string(known.Name()), prefix)))
}
