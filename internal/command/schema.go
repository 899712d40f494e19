package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteSchema writes a JSON Schema into the folder of a file (beside) whose first line
// refers to it, so that editors find it. An existing schema file stays: it may be of another
// version, or edited. A device such as /dev/stdout gets no schema.
func WriteSchema(beside, name string, schema []byte) error {
	if at, err := os.Stat(beside); err != nil || !at.Mode().IsRegular() {
		return err
	}
	file, err := os.OpenFile(filepath.Join(filepath.Dir(beside), name+".schema.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.Write(schema)
	return errors.Join(err, file.Close())
}
