package wire

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// Encode returns the message of type M for a value of the SDK. Fields correspond by their names: upper and lower case
// are equal, and a duration's name in the message ends in Ms. Fields of the message without a counterpart stay unset.
func Encode[M any](v any) *M {
	m := new(M)
	convert(reflect.ValueOf(m).Elem(), reflect.ValueOf(v))
	return m
}

// Decode returns the value of the SDK for a message, the reverse of [Encode].
func Decode[S any](m proto.Message) (v S) {
	convert(reflect.ValueOf(&v).Elem(), reflect.ValueOf(m))
	return v
}

// convert sets to, which is zero, to the value of from in to's own type. A missing message counts as an empty one,
// unless to can be nil.
func convert(to, from reflect.Value) {
	switch {
	case to.Type() == reflect.TypeFor[*pb.CommandList]():
		if !from.IsNil() {
			to.Set(reflect.ValueOf(&pb.CommandList{Names: texts(from.Interface().([]string))})) //nolint:forcetypeassert // the only type with this counterpart
		}
	case from.Type() == reflect.TypeFor[*pb.CommandList]():
		if !from.IsNil() { // an empty list differs from a missing list
			to.Set(reflect.AppendSlice(reflect.MakeSlice(to.Type(), 0, 0), from.Elem().FieldByName("Names")))
		}
	case to.Kind() == reflect.Pointer:
		if from.Kind() != reflect.Pointer || !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			convert(to.Elem(), reflect.Indirect(from))
		}
	case from.Kind() == reflect.Pointer && from.IsNil():
		convert(to, reflect.Zero(from.Type().Elem()))
	case from.Kind() == reflect.Pointer:
		convert(to, from.Elem())
	case to.Kind() == reflect.Struct:
		convertFields(to, from)
		complete(to.Addr().Interface())
	case to.Kind() == reflect.Slice && to.Type().Elem().Kind() != reflect.Uint8:
		convertList(to, from)
	default:
		convertScalar(to, from)
	}
}

// convertFields converts the exported fields with a counterpart.
func convertFields(to, from reflect.Value) {
	for _, pair := range fieldPairs(typePair{to.Type(), from.Type()}) {
		convert(to.Field(pair.to), from.Field(pair.from))
	}
}

// fieldPair holds the indexes of two corresponding fields.
type fieldPair struct{ to, from int }

// typePair is a type to convert to and a type to convert from.
type typePair struct{ to, from reflect.Type }

// fieldPairs returns the corresponding fields of two types. The answers are cached, because comparing names costs more
// than the rest of a conversion.
var fieldPairs = memoize(func(types typePair) []fieldPair {
	sources := map[string]int{}
	for i := range types.from.NumField() {
		if field := types.from.Field(i); field.IsExported() {
			sources[sharedName(field)] = i
		}
	}
	var pairs []fieldPair
	for i := range types.to.NumField() {
		field := types.to.Field(i)
		if source, ok := sources[sharedName(field)]; ok && field.IsExported() {
			pairs = append(pairs, fieldPair{i, source})
		}
	}
	return pairs
})

// memoize returns f with a cache of its results. The returned function is safe for concurrent use.
func memoize[K comparable, V any](f func(K) V) func(K) V {
	var known sync.Map
	return func(key K) V {
		if v, ok := known.Load(key); ok {
			return v.(V) //nolint:forcetypeassert // nothing else is stored
		}
		v := f(key)
		known.Store(key, v)
		return v
	}
}

// sharedName returns the part of a field's name that both sides share, in lower case.
func sharedName(field reflect.StructField) string {
	return strings.ToLower(strings.TrimSuffix(field.Name, "Ms"))
}

// convertList converts the elements of a list. An empty list becomes nil.
func convertList(to, from reflect.Value) {
	if from.Len() == 0 {
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
	for i := range from.Len() {
		convert(to.Index(i), from.Index(i))
	}
}

func convertScalar(to, from reflect.Value) {
	if from.Kind() == reflect.String && to.Kind() == reflect.String { // the most frequent case, without an allocation
		to.SetString(text(from.String()))
		return
	}
	switch value := from.Interface().(type) {
	case protoreflect.Enum:
		to.SetString(fromEnum(value, fallbacks[to.Type()]))
		return
	case time.Duration:
		to.SetInt(millis(value))
		return
	case map[string]string:
		to.Set(reflect.ValueOf(textMap(value)))
		return
	case []byte:
		if to.Type() == reflect.TypeFor[json.RawMessage]() {
			value = fromJSON(value)
		}
		setBytes(to, value)
		return
	case json.RawMessage: // invalid JSON is sent unchanged; the reader quotes it
		to.SetBytes(value)
		return
	}
	if enum, ok := to.Interface().(protoreflect.Enum); ok {
		to.SetInt(int64(toEnum(enum, from.String())))
		return
	}
	switch {
	case to.Type() == reflect.TypeFor[time.Duration]():
		to.SetInt(int64(fromMillis(from.Int())))
	case to.Kind() == reflect.Slice:
		to.SetBytes([]byte(from.String())) // byte for byte
	case to.Kind() == reflect.Int32:
		to.SetInt(clampInt32(from.Int()))
	case to.CanInt():
		to.SetInt(from.Int())
	default: // a boolean or a number
		to.Set(from)
	}
}

// setBytes sets a text, or a list of bytes, to bytes.
func setBytes(to reflect.Value, value []byte) {
	if to.Kind() == reflect.String {
		to.SetString(string(value))
		return
	}
	to.SetBytes(value)
}

// Each enumeration of the wire has a prefix, which its first value UNSPECIFIED shows. The names of the other values are
// the SDK's words in upper case.

// toEnum returns the number of a word. An unknown word is sent as 0, which the reader's fallback interprets.
func toEnum(enum protoreflect.Enum, word string) protoreflect.EnumNumber {
	values := enum.Descriptor().Values()
	if known := values.ByName(protoreflect.Name(enumPrefix(values) + strings.ToUpper(word))); known != nil {
		return known.Number()
	}
	return 0
}

// fromEnum returns the word of a value, or fallback.
func fromEnum(value protoreflect.Enum, fallback string) string {
	values := value.Descriptor().Values()
	known := values.ByNumber(value.Number())
	if known == nil || value.Number() == 0 {
		return fallback
	}
	return strings.ToLower(strings.TrimPrefix(string(known.Name()), enumPrefix(values)))
}

func enumPrefix(values protoreflect.EnumValueDescriptors) string {
	return strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
}

// clampInt32 clamps a count to 32 bits.
func clampInt32(n int64) int64 { return max(math.MinInt32, min(math.MaxInt32, n)) }
