package main

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// breaking returns the changes that a peer built with before would miss or misread: removed or
// changed services, calls, messages, fields, enums and enum values. Additions are allowed. The
// removal of a field needs a new major version.
func breaking(before, after protoreflect.FileDescriptor) []string {
	var f faults
	if before.Package() != after.Package() {
		f.add("package %s became %s", before.Package(), after.Package())
		return f
	}
	f.services(before.Services(), after.Services())
	f.messages(before.Messages(), after.Messages())
	f.enums(before.Enums(), after.Enums())
	return f
}

// faults collects incompatible changes in the order of the older file.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *faults) services(before, after protoreflect.ServiceDescriptors) {
	for i := range before.Len() {
		old := before.Get(i)
		now := after.ByName(old.Name())
		if now == nil {
			f.add("service %s is gone", old.Name())
			continue
		}
		for j := range old.Methods().Len() {
			f.method(old.Methods().Get(j), now.Methods())
		}
	}
}

func (f *faults) method(old protoreflect.MethodDescriptor, after protoreflect.MethodDescriptors) {
	name := fmt.Sprintf("rpc %s.%s", old.Parent().Name(), old.Name())
	now := after.ByName(old.Name())
	switch {
	case now == nil:
		f.add("%s is gone", name)
	case signature(old) != signature(now):
		f.add("%s changed from %s to %s", name, signature(old), signature(now))
	}
}

// signature formats the types of a call.
func signature(m protoreflect.MethodDescriptor) string {
	side := func(streams bool, d protoreflect.MessageDescriptor) string {
		if streams {
			return "stream " + string(d.Name())
		}
		return string(d.Name())
	}
	return fmt.Sprintf("(%s) returns (%s)", side(m.IsStreamingClient(), m.Input()), side(m.IsStreamingServer(), m.Output()))
}

func (f *faults) messages(before, after protoreflect.MessageDescriptors) {
	for i := range before.Len() {
		old := before.Get(i)
		now := after.ByName(old.Name())
		if now == nil {
			f.add("message %s is gone", old.FullName())
			continue
		}
		for j := range old.Fields().Len() {
			f.field(old.Fields().Get(j), now.Fields())
		}
		f.messages(old.Messages(), now.Messages())
		f.enums(old.Enums(), now.Enums())
	}
}

func (f *faults) field(old protoreflect.FieldDescriptor, after protoreflect.FieldDescriptors) {
	name := fmt.Sprintf("field %s (number %d)", old.FullName(), old.Number())
	now := after.ByName(old.Name())
	switch {
	case now == nil && after.ByNumber(old.Number()) != nil:
		f.add("%s became %s", name, after.ByNumber(old.Number()).Name())
	case now == nil:
		f.add("%s is gone", name)
	case now.Number() != old.Number():
		f.add("%s has number %d now", name, now.Number())
	case fieldType(old) != fieldType(now):
		f.add("%s changed from %s to %s", name, fieldType(old), fieldType(now))
	}
}

// fieldType formats everything that determines a field's encoding and meaning.
func fieldType(d protoreflect.FieldDescriptor) string {
	if d.IsMap() {
		return fmt.Sprintf("map<%s, %s>", fieldType(d.MapKey()), fieldType(d.MapValue()))
	}
	text := d.Kind().String()
	switch d.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		text = string(d.Message().FullName())
	case protoreflect.EnumKind:
		text = string(d.Enum().FullName())
	}
	if oneof := d.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		text += " in oneof " + string(oneof.Name())
	}
	switch {
	case d.IsList():
		return "repeated " + text
	case d.HasOptionalKeyword():
		return "optional " + text
	default:
		return text
	}
}

func (f *faults) enums(before, after protoreflect.EnumDescriptors) {
	for i := range before.Len() {
		old := before.Get(i)
		now := after.ByName(old.Name())
		if now == nil {
			f.add("enum %s is gone", old.FullName())
			continue
		}
		for j := range old.Values().Len() {
			f.enumValue(old.Name(), old.Values().Get(j), now.Values())
		}
	}
}

func (f *faults) enumValue(enum protoreflect.Name, old protoreflect.EnumValueDescriptor, after protoreflect.EnumValueDescriptors) {
	now := after.ByName(old.Name())
	switch {
	case now == nil:
		f.add("value %s of enum %s is gone", old.Name(), enum)
	case now.Number() != old.Number():
		f.add("value %s of enum %s changed from %d to %d", old.Name(), enum, old.Number(), now.Number())
	}
}
