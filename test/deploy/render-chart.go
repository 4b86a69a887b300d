// Renders a chart with Go's own text/template and sprig, as Helm does: test/deploy/check.ts compares the result.
// It reads the folder of the chart and several contexts as JSON, and writes the objects of each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

type request struct {
	Folder   string
	Contexts []map[string]interface{}
}

type rendered struct {
	Objects []interface{} `json:"objects"`
	Notes   string        `json:"notes"`
	// Empty if schema and templates accept the values.
	Refusal string `json:"refusal"`
}

// Helm splits the documents of a file by this line.
var separator = regexp.MustCompile(`(?:^|\s*\n)---\s*`)

func parse(folder string) (*template.Template, []string, error) {
	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	// Helm adds these to sprig.
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["toJson"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	functions["include"] = func(name string, value interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, value)
		return out.String(), err
	}
	all.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		if _, err := all.New(filepath.Base(file)).Parse(string(text)); err != nil {
			return nil, nil, err
		}
	}
	return all, files, nil
}

// Helm checked values with this validator until version 3.17. It returns the complaints.
func validate(schema *gojsonschema.Schema, values interface{}) (string, error) {
	result, err := schema.Validate(gojsonschema.NewGoLoader(values))
	if err != nil {
		return "", err
	}
	complaints := []string{}
	for _, each := range result.Errors() {
		complaints = append(complaints, each.String())
	}
	return strings.Join(complaints, "; "), nil
}

func render(all *template.Template, files []string, context map[string]interface{}) rendered {
	result := rendered{Objects: []interface{}{}}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out strings.Builder
		if err := all.ExecuteTemplate(&out, name, context); err != nil {
			return rendered{Objects: []interface{}{}, Refusal: err.Error()}
		}
		if strings.Contains(out.String(), "<no value>") {
			return rendered{Objects: []interface{}{}, Refusal: name + " prints a missing value"}
		}
		if name == "NOTES.txt" {
			result.Notes = out.String()
			continue
		}
		for _, text := range separator.Split(out.String(), -1) {
			var object interface{}
			if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
				return rendered{Objects: []interface{}{}, Refusal: fmt.Sprintf("%s: %v", name, err)}
			}
			if object != nil {
				result.Objects = append(result.Objects, object)
			}
		}
	}
	return result
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	all, files, err := parse(asked.Folder)
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(filepath.Join(asked.Folder, "values.schema.json"))
	if err != nil {
		panic(err)
	}
	schema, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(text))
	if err != nil {
		panic(err)
	}
	results := []rendered{}
	for _, context := range asked.Contexts {
		complaints, err := validate(schema, context["Values"])
		if err != nil {
			panic(err)
		}
		if complaints != "" {
			results = append(results, rendered{Objects: []interface{}{}, Refusal: "values.schema.json: " + complaints})
		} else {
			results = append(results, render(all, files, context))
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}
