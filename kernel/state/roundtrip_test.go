package state

import (
	"encoding/json"
	"fmt"
	"os"
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

// FuzzParse reads any state: its rendering is stable, and a clone is equal and shares nothing that is changed in
// place.
func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile("../schedule/testdata/state-v1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"status":"running","nodes":{"0":{"status":"running","branches":{"a":{"loop":{}}},"steps":{"s":{"loop":{"phase":"ready"}}},"order":["s"]}},"questions":{"q":{}},"timers":{"t":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		first, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("a state cannot be written: %v", err)
		}
		back, err := Parse(first)
		if err != nil {
			t.Fatalf("a written state cannot be read: %v\n%s", err, first)
		}
		again, err := json.Marshal(back)
		if diff := cmp.Diff(string(first), string(again)); err != nil || diff != "" {
			t.Fatalf("written twice: %v (-first +second):\n%s", err, diff)
		}
		clone := s.Clone()
		for path, n := range clone.Nodes {
			n.Status = "changed"
			clone.Nodes[path] = n
			for id, b := range n.Branches {
				b.Status = "changed"
				n.Branches[id] = b
			}
			for id, step := range n.Steps {
				step.Status = "changed"
				n.Steps[id] = step
			}
		}
		after, err := json.Marshal(s)
		if diff := cmp.Diff(string(first), string(after)); err != nil || diff != "" {
			t.Fatalf("a change of the clone changed it, too: %v (-before +after):\n%s", err, diff)
		}
	})
}
