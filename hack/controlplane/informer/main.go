// informer is what every controller has: client-go's informer, here of ConfigMaps, in one namespace or
// in all. It prints a line of JSON for each thing that its handlers are told, "synced" once it has
// listed, "listing" each time that it begins anew, and its store for each line that it reads.
//
//	informer [NAMESPACE]
//
// KUBE_FEATURE_WatchListClient=false has it list instead of being sent what is there by the watch.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type told struct {
	Event   string            `json:"event"`
	Key     string            `json:"key,omitempty"`
	UID     string            `json:"uid,omitempty"`
	Version string            `json:"version,omitempty"`
	Store   map[string]string `json:"store,omitempty"`
}

var (
	turn sync.Mutex
	out  = json.NewEncoder(os.Stdout)
)

func tell(line told) {
	turn.Lock()
	defer turn.Unlock()
	if err := out.Encode(line); err != nil {
		log.Fatal(err)
	}
}

func about(event string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		event, object = "MISSED", gone.Obj
	}
	found := object.(*corev1.ConfigMap)
	key := found.Namespace + "/" + found.Name
	tell(told{Event: event, Key: key, UID: string(found.UID), Version: found.ResourceVersion})
}

type transport struct{ http.RoundTripper }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if query.Get("watch") != "true" || query.Get("sendInitialEvents") == "true" {
		tell(told{Event: "listing"})
	}
	return t.RoundTripper.RoundTrip(request)
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return transport{inner} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	namespace := metav1.NamespaceAll
	if len(os.Args) > 1 {
		namespace = os.Args[1]
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { about("ADDED", object) },
		UpdateFunc: func(_, object any) { about("MODIFIED", object) },
		DeleteFunc: func(object any) { about("DELETED", object) },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	tell(told{Event: "synced"})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		store := map[string]string{}
		for _, object := range informer.GetStore().List() {
			found := object.(*corev1.ConfigMap)
			store[found.Namespace+"/"+found.Name] = string(found.UID) + "/" + found.ResourceVersion
		}
		tell(told{Event: "store", Store: store})
	}
}
