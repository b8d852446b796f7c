package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/userfile"
)

// indexFile lists which file of a sharded checkpoint holds which tensor.
const indexFile = "model.safetensors.index.json"

// Folder is what the safetensors files of a model folder say.
type Folder struct {
	Tensors []Tensor // of all files; empty when only the index is there
	Files   int      // whose headers were read
	Indexed int64    // bytes of all tensors by the index; 0 when it does not say
	Total   int64    // bytes of all tensors, from the headers or else from the index; 0 when unknown
}

// index is model.safetensors.index.json.
type index struct {
	Metadata struct {
		TotalSize json.RawMessage `json:"total_size"`
	} `json:"metadata"`
	WeightMap map[string]string `json:"weight_map"`
}

// ReadFolder reads the headers of a model folder: of the files that the index names
// where all of them are there, without an index of model.safetensors, or else of the
// only *.safetensors. With an index but no such file, only its total is known. A folder
// without any gives nil.
func ReadFolder(dir fs.FS) (*Folder, error) {
	files, idx, err := weightFiles(dir)
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0 && idx != nil:
		return &Folder{Indexed: idx.total(), Total: idx.total()}, nil
	case len(files) == 0:
		return nil, nil
	}
	folder := &Folder{Files: len(files)}
	if idx != nil {
		folder.Indexed = idx.total()
	}
	seen := map[string]string{}
	for _, name := range files {
		tensors, err := readFile(dir, name)
		if err != nil {
			return nil, err
		}
		for _, t := range tensors {
			if other, ok := seen[t.Name]; ok {
				return nil, fmt.Errorf("tensor %.100q is in %s and in %s", t.Name, other, name)
			}
			seen[t.Name] = name
			folder.Total += t.Bytes
		}
		folder.Tensors = append(folder.Tensors, tensors...)
		if len(folder.Tensors) > maxTensors {
			return nil, fmt.Errorf("the files hold more than %d tensors", maxTensors)
		}
	}
	return folder, nil
}

// wholeFile holds all of a checkpoint that is not sharded.
const wholeFile = "model.safetensors"

// weightFiles lists the safetensors files that make up the model of a folder: those
// that the index names, or without an index, which is nil then, model.safetensors, or
// else the only one. Others beside them, such as Mistral's consolidated.safetensors,
// hold the same once more, and transformers does not read them either. With an index
// but none of its files, there are none; if only some are missing, that is an error.
func weightFiles(dir fs.FS) ([]string, *index, error) {
	idx, err := readIndex(dir)
	if err != nil {
		return nil, nil, err
	}
	files, err := fs.Glob(dir, "*.safetensors")
	if err != nil {
		return nil, nil, fmt.Errorf("listing safetensors files: %w", err)
	}
	switch {
	case idx == nil && slices.Contains(files, wholeFile):
		return []string{wholeFile}, nil, nil
	case idx == nil && len(files) > 1:
		return nil, nil, fmt.Errorf("there is neither %s nor %s to say which of its %d files %s are the model: add the index, or leave one file",
			indexFile, wholeFile, len(files), listed(files))
	case idx == nil:
		return files, nil, nil
	}
	named, present := idx.files(), 0
	for _, f := range named {
		if slices.Contains(files, f) {
			present++
		}
	}
	switch {
	case present == 0:
		return nil, idx, nil
	case present < len(named):
		return nil, nil, fmt.Errorf("%d of the %d files that %s names are missing", len(named)-present, len(named), indexFile)
	}
	return named, idx, nil
}

// listed are the first few names.
func listed(files []string) string {
	const most = 3
	if len(files) > most {
		return strings.Join(files[:most], ", ") + ", …"
	}
	return strings.Join(files, ", ")
}

func readFile(dir fs.FS, name string) ([]Tensor, error) {
	f, size, err := userfile.OpenFS(dir, name)
	if err != nil {
		return nil, fmt.Errorf("opening weights: %w", err)
	}
	defer func() { _ = f.Close() }()
	tensors, err := ReadHeader(f, size)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return tensors, nil
}

// readIndex reads the index; nil when there is none.
func readIndex(dir fs.FS) (*index, error) {
	data, err := userfile.ReadFS(dir, indexFile, userfile.IndexLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading index: %w", err)
	}
	idx, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", indexFile, err)
	}
	return idx, nil
}

func parseIndex(data []byte) (*index, error) {
	var idx index
	if err := json.Unmarshal(data, &idx); err != nil {
		return nil, userfile.JSONError(err)
	}
	if len(idx.WeightMap) == 0 {
		return nil, fmt.Errorf("weight_map is empty")
	}
	for tensor, file := range idx.WeightMap {
		// A name with a folder in it could lead out of the model's.
		if file != path.Base(file) || path.Ext(file) != ".safetensors" {
			return nil, fmt.Errorf("tensor %.100q is in %.100q, expected a *.safetensors file of the folder", tensor, file)
		}
	}
	if n := idx.Metadata.TotalSize; len(n) > 0 && string(n) != "null" && idx.total() == 0 {
		return nil, fmt.Errorf("metadata.total_size: %.40s is no size in bytes", n)
	}
	return &idx, nil
}

// total is metadata.total_size; some writers put a fraction on it.
func (idx *index) total() int64 {
	f, err := strconv.ParseFloat(string(idx.Metadata.TotalSize), 64)
	if err != nil || !(f >= 1 && f <= 1e16) {
		return 0
	}
	return int64(f)
}

// files are the names in the weight map, once each, in order.
func (idx *index) files() []string {
	var names []string
	for _, f := range idx.WeightMap {
		names = append(names, f)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
