package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts data into the file at path, which holds either all of it or what it
// held before: the data go into a new file beside it, which then takes its place. A
// link is followed, so that what it points at is replaced.
func Write(path string, data []byte) error {
	path = target(path)
	file, err := create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error says what is wrong
	}
	return err
}

// Check reports whether Write could make its new file beside path.
func Check(path string) error {
	file, err := create(target(path))
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

func target(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// create makes the new file. Not with os.CreateTemp, whose mode ignores the user's
// umask, to both sides; a file that is there keeps its mode.
func create(path string) (*os.File, error) {
	mode := fs.FileMode(0o666)
	old, statErr := os.Stat(path)
	if statErr == nil {
		mode = old.Mode().Perm()
	}
	file, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		var where *fs.PathError
		if errors.As(err, &where) {
			err = where.Err // the path is that of the new file, which nobody knows
		}
		return nil, err
	}
	return file, nil
}
