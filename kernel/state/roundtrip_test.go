package state

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// filler makes values of any type: empty leaves fields out, number distinguishes values.
type filler struct {
	empty  func() bool
	number func() int
}

// fill sets everything in v that JSON can hold.
func (f filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, f.number(), time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.number()))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !f.empty() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.number()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.number()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.number()) / 8)
	default:
		panic(fmt.Sprintf("a state has a %s, which JSON may not hold", v.Type()))
	}
}

// roundTrip encodes a state and decodes it.
func roundTrip(s State) (State, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return State{}, err
	}
	return Parse(text)
}

// REQUIREMENTS 001 5.1: a state with every field set survives a JSON round trip.
func TestRoundTripOfEveryField(t *testing.T) {
	n := 0
	f := filler{empty: func() bool { return false }, number: func() int { n++; return n }}
	var whole State
	f.fill(reflect.ValueOf(&whole).Elem())
	got, err := roundTrip(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if copied := whole.Clone(); !reflect.DeepEqual(whole, copied) {
		t.Errorf("a clone lacks something:\n%s", cmp.Diff(whole, copied))
	}
	if n < 200 {
		t.Errorf("only %d values were filled", n)
	}
}

// So do states with some fields empty.
func TestRoundTripOfAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := filler{empty: func() bool { return rapid.IntRange(0, 2).Draw(t, "empty") == 0 }, number: func() int { return rapid.IntRange(1, 1_000_000).Draw(t, "number") }}
		var s State
		f.fill(reflect.ValueOf(&s).Elem())
		got, err := roundTrip(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	})
}
