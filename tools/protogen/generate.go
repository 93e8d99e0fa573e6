package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// sdkModule is the prefix of the generated paths that maps to sdkDir.
const sdkModule = "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// generators are the tools to run, in this order; go.mod of this module pins each.
var generators = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

// generated is one file of generated code. Its path is relative to the repository.
type generated struct {
	path    string
	content []byte
}

// generate compiles the protocol and returns the generated code.
func generate(ctx context.Context, root string) ([]generated, error) {
	file, err := compile(ctx, filepath.Join(root, protoDir), protoFile)
	if err != nil {
		return nil, err
	}
	descriptor := protoutil.ProtoFromFileDescriptor(file)
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{protoFile},
		Parameter:      proto.String("module=" + sdkModule),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{descriptor},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the generator request: %w", err)
	}
	var files []generated
	for _, name := range generators {
		out, err := runGenerator(ctx, filepath.Join(root, "tools"), name, request)
		if err != nil {
			return nil, err
		}
		files = append(files, out...)
	}
	module, err := pythonModule(descriptor)
	if err != nil {
		return nil, err
	}
	return append(files, module), nil
}

// compile compiles the file name below dir, comments included.
func compile(ctx context.Context, dir, name string) (protoreflect.FileDescriptor, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", filepath.Join(dir, name), err)
	}
	return files[0], nil
}

// runGenerator runs one generator by protoc's plugin protocol.
func runGenerator(ctx context.Context, toolsDir, name string, request []byte) ([]generated, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", name)
	cmd.Dir = toolsDir
	cmd.Stdin = bytes.NewReader(request)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("decode the answer of %s: %w", name, err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("%s: %s", name, response.GetError())
	}
	var files []generated
	for _, f := range response.File {
		files = append(files, generated{filepath.Join(sdkDir, filepath.FromSlash(f.GetName())), []byte(f.GetContent())})
	}
	return files, nil
}

// write replaces the committed code.
func write(root string, files []generated) error {
	for _, f := range files {
		path := filepath.Join(root, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error for every committed file that differs from the generated one.
func compare(root string, files []generated) error {
	var faults []error
	for _, f := range files {
		committed, err := os.ReadFile(filepath.Join(root, f.path))
		switch {
		case err != nil:
			faults = append(faults, err)
		case !bytes.Equal(committed, f.content):
			faults = append(faults, fmt.Errorf("%s is stale; run `make proto` and commit it", f.path))
		}
	}
	return errors.Join(faults...)
}

// protoFile is the path of the protocol below protoDir, as the generators receive it.
const (
	sdkDir    = "plugin-sdk"
	protoDir  = "plugin-sdk/proto"
	protoFile = "agentpipelines/plugin/v1/plugin.proto"
)
