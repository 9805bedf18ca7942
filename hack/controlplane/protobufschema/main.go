// protobufschema prints how Kubernetes' built-in kinds are written in protobuf and in JSON.
//
// It reads the Go types by reflection, for only they have it all: the generated.proto files know
// neither the names in JSON, nor which fields JSON leaves out, nor which are pointers. The gateway
// reads what this prints: operator/lnamespace/translate/protocol/protobuf/schema.json. Write it anew by
//
//	make protobuf-schema
//
// A field is "NUMBER NAME TYPE". NAME is "." for a message whose fields stand in JSON among those
// of the message that holds it, and ends in "?" if JSON leaves out a value that is empty. TYPE
// begins with "*" for a pointer, "[]" for a list, "map:" for a map from strings.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// special types have a form in JSON that their fields do not tell.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                            "quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "intOrString",
	reflect.TypeFor[metav1.Time]():                                  "time",
	reflect.TypeFor[metav1.MicroTime]():                             "microTime",
	reflect.TypeFor[metav1.Duration]():                              "duration",
	reflect.TypeFor[metav1.FieldsV1]():                              "json",
	reflect.TypeFor[runtime.RawExtension]():                         "json",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "json",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "schemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "schemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "schemaOrStringArray",
}

// roots are the kinds that stand in every group, those of discovery, and those in none that a client
// is built from.
var roots = map[string]any{
	"* DeleteOptions":                          metav1.DeleteOptions{},
	" APIVersions":                             metav1.APIVersions{},
	"v1 APIGroup":                              metav1.APIGroup{},
	"v1 APIGroupList":                          metav1.APIGroupList{},
	"v1 APIResourceList":                       metav1.APIResourceList{},
	"v1 Status":                                metav1.Status{},
	"apidiscovery.k8s.io/v2 APIGroupDiscoveryList": apidiscoveryv2.APIGroupDiscoveryList{},
	"meta.k8s.io/v1 PartialObjectMetadata":     metav1.PartialObjectMetadata{},
	"meta.k8s.io/v1 PartialObjectMetadataList": metav1.PartialObjectMetadataList{},
}

type document struct {
	Kubernetes string              `json:"kubernetes"`
	Kinds      map[string]string   `json:"kinds"`
	Messages   map[string][]string `json:"messages"`
}

func main() {
	utilities := []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme}
	for _, add := range utilities {
		if err := add(scheme.Scheme); err != nil {
			fail(err)
		}
	}
	result := document{Kubernetes: version(), Kinds: map[string]string{}, Messages: map[string][]string{}}
	for kind, example := range roots {
		result.Kinds[kind] = result.message(reflect.TypeOf(example))
	}
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		if result.served(kind, goType) {
			result.Kinds[kind.GroupVersion().String()+" "+kind.Kind] = result.message(goType)
		}
	}
	result.print()
}

// served tells whether a kind has objects of its own; options stand in every group.
func (d *document) served(kind schema.GroupVersionKind, goType reflect.Type) bool {
	_, marshals := reflect.New(goType).Interface().(interface{ Marshal() ([]byte, error) })
	common := strings.HasSuffix(goType.PkgPath(), "pkg/apis/meta/v1")
	return marshals && !common && kind.Version != runtime.APIVersionInternal
}

// message describes a struct and all that it holds, and returns its name.
func (d *document) message(goType reflect.Type) string {
	parts := strings.Split(goType.PkgPath(), "/")
	name := strings.Join(parts[len(parts)-2:], "/") + "." + goType.Name()
	if _, known := d.Messages[name]; known {
		return name
	}
	d.Messages[name] = []string{} // a schema holds schemas
	fields := []string{}
	for i := range goType.NumField() {
		if described := d.field(goType.Field(i)); described != "" {
			fields = append(fields, described)
		}
	}
	d.Messages[name] = fields
	return name
}

func (d *document) field(field reflect.StructField) string {
	tag := field.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		if field.Type != reflect.TypeFor[metav1.TypeMeta]() {
			fail(fmt.Errorf("field %s has no protobuf", field.Name))
		}
		return "0 . typeMeta"
	}
	parts := strings.Split(field.Tag.Get("json"), ",")
	name := parts[0]
	switch {
	case name == "" && parts[1] == "inline":
		name = "."
	case name == "":
		name = field.Name
	}
	options := strings.Join(parts[1:], ",")
	if strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty") && canBeEmpty(field.Type) {
		name += "?"
	}
	return strings.Split(tag, ",")[1] + " " + name + " " + d.typeName(field.Type)
}

// canBeEmpty tells which types omitempty means something for: structs are never empty.
func canBeEmpty(goType reflect.Type) bool {
	return goType.Kind() != reflect.Struct
}

func (d *document) typeName(goType reflect.Type) string {
	if name, known := special[goType]; known {
		return name
	}
	_, marshals := reflect.New(goType).Interface().(interface{ Marshal() ([]byte, error) })
	switch goType.Kind() {
	case reflect.Pointer:
		return "*" + d.typeName(goType.Elem())
	case reflect.Slice:
		switch {
		case goType.Elem().Kind() == reflect.Uint8:
			return "bytes"
		case marshals:
			return "strings"
		}
		return "[]" + d.typeName(goType.Elem())
	case reflect.Map:
		if goType.Key().Kind() != reflect.String {
			fail(fmt.Errorf("a map's key is %s", goType.Key()))
		}
		return "map:" + d.typeName(goType.Elem())
	case reflect.Struct:
		return d.message(goType)
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return goType.Kind().String()
	}
	fail(fmt.Errorf("no form is known for %s", goType))
	return ""
}

// print writes a line for each message, so that a change reads well.
func (d *document) print() {
	fmt.Printf("{\"kubernetes\":%s,\n\"kinds\":{\n", encoded(d.Kubernetes))
	printSorted(d.Kinds)
	fmt.Printf("},\n\"messages\":{\n")
	printSorted(d.Messages)
	fmt.Printf("}}\n")
}

func printSorted[Value any](values map[string]Value) {
	lines := []string{}
	for key, value := range values {
		lines = append(lines, encoded(key)+":"+encoded(value))
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, ",\n"))
}

func encoded(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		fail(err)
	}
	return strings.TrimSpace(text.String())
}

// version is that of the module k8s.io/api, which follows Kubernetes': v0.36.3 is 1.36.3.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/api" {
			if module.Replace != nil {
				module = module.Replace
			}
			return "1" + strings.TrimPrefix(module.Version, "v0")
		}
	}
	return ""
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
