// kubelet stands in for the kubelet of a node that runs nothing: it serves what the API server asks
// a kubelet for by streams, in the kubelet's own protocols, so that exec, attach, port-forward and
// logs can be tried without containers.
//
// exec and attach repeat standard input; the command `exit CODE` ends with that code, `count` tells
// how much input came when that has ended, `flood BYTES` writes so much, `size` writes the sizes of
// the terminal. A forwarded port repeats what it is sent. A log has one line, and with follow one
// more each 100 ms; where it is limited to some bytes it has as many. `tar` and `test`, of which
// kubectl cp is made, run for real in the folder in which it was started. It prints the port on
// which it listens.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const idle = time.Minute

// What is in which stream of a connection.
// https://github.com/kubernetes/api/blob/master/core/v1/types.go
const (
	streamType = "streamType"
	requestID  = "requestID"
)

func main() {
	http.HandleFunc("/exec/", run)
	http.HandleFunc("/attach/", run)
	http.HandleFunc("/portForward/", forward)
	http.HandleFunc("/containerLogs/", logs)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	certificate, err := certify()
	if err != nil {
		log.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	log.Fatal(http.Serve(tls.NewListener(listener, config), nil))
}

// certify makes a certificate; the API server of a local control plane does not check it.
func certify() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// accept upgrades a request, and hands its streams on as they come.
func accept(w http.ResponseWriter, r *http.Request, protocols ...string) (httpstream.Connection, <-chan httpstream.Stream) {
	if _, err := httpstream.Handshake(r, w, protocols); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return nil, nil
	}
	streams := make(chan httpstream.Stream, 16)
	opened := func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	}
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, opened)
	if connection != nil {
		connection.SetIdleTimeout(idle)
	}
	return connection, streams
}

func run(w http.ResponseWriter, r *http.Request) {
	connection, opened := accept(w, r, "v4.channel.k8s.io")
	if connection == nil {
		return
	}
	defer connection.Close()
	query := r.URL.Query()
	streams := map[string]httpstream.Stream{}
	for range wanted(query) {
		select {
		case stream := <-opened:
			streams[stream.Headers().Get(streamType)] = stream
		case <-time.After(idle):
			return
		}
	}
	command := query["command"]
	if len(command) > 0 && (command[0] == "tar" || command[0] == "test") {
		json.NewEncoder(streams["error"]).Encode(status(runForReal(command, streams)))
		return
	}
	if stdout := streams["stdout"]; stdout != nil {
		fmt.Fprintf(stdout, "%s %s\n", strings.Split(r.URL.Path, "/")[1], strings.Join(command, " "))
		act(command, streams)
	}
	if stderr := streams["stderr"]; stderr != nil {
		fmt.Fprintln(stderr, "ended")
	}
	json.NewEncoder(streams["error"]).Encode(status(command))
}

// runForReal runs a program where this process was started, and returns `exit CODE`.
func runForReal(command []string, streams map[string]httpstream.Stream) []string {
	program := exec.Command(command[0], command[1:]...)
	// A stream that is not there must not be a reader or writer that is there and nil.
	if stdin := streams["stdin"]; stdin != nil {
		program.Stdin = stdin
	}
	if stdout := streams["stdout"]; stdout != nil {
		program.Stdout = stdout
	}
	if stderr := streams["stderr"]; stderr != nil {
		program.Stderr = stderr
	}
	if err := program.Run(); err != nil && program.ProcessState == nil {
		return []string{"exit", "127"}
	}
	return []string{"exit", strconv.Itoa(program.ProcessState.ExitCode())}
}

// act does what a command does with its input and output.
func act(command []string, streams map[string]httpstream.Stream) {
	stdin, stdout := streams["stdin"], streams["stdout"]
	switch {
	case len(command) == 1 && command[0] == "size" && streams["resize"] != nil:
		io.Copy(stdout, streams["resize"])
	case len(command) == 1 && command[0] == "count" && stdin != nil:
		size, _ := io.Copy(io.Discard, stdin)
		fmt.Fprintln(stdout, size)
	case len(command) == 2 && command[0] == "flood":
		size, _ := strconv.ParseInt(command[1], 10, 64)
		io.CopyN(stdout, endless{}, size)
	case stdin != nil:
		io.Copy(stdout, stdin)
	}
}

// wanted returns a name for each stream that a client opens; a terminal has one for its size.
func wanted(query map[string][]string) []string {
	found := []string{"error"}
	for _, name := range []string{"input", "output", "error", "tty"} {
		if value := query[name]; len(value) == 1 && (value[0] == "1" || value[0] == "true") {
			found = append(found, name)
		}
	}
	return found
}

func status(command []string) map[string]any {
	if len(command) != 2 || command[0] != "exit" || command[1] == "0" {
		return map[string]any{"metadata": map[string]any{}, "status": "Success"}
	}
	cause := map[string]any{"reason": "ExitCode", "message": command[1]}
	return map[string]any{
		"metadata": map[string]any{},
		"status":   "Failure",
		"reason":   "NonZeroExitCode",
		"message":  "command terminated with exit code " + command[1],
		"details":  map[string]any{"causes": []any{cause}},
	}
}

func forward(w http.ResponseWriter, r *http.Request) {
	connection, opened := accept(w, r, "portforward.k8s.io")
	if connection == nil {
		return
	}
	defer connection.Close()
	errors := map[string]httpstream.Stream{}
	for {
		select {
		case stream := <-opened:
			id := stream.Headers().Get(requestID)
			if stream.Headers().Get(streamType) == "error" {
				errors[id] = stream
				continue
			}
			go repeat(stream, errors[id])
		case <-connection.CloseChan():
			return
		}
	}
}

func repeat(data, failed httpstream.Stream) {
	io.Copy(data, data)
	data.Close()
	if failed != nil {
		failed.Close()
	}
}

// endless is a line that has no end.
type endless struct{}

func (endless) Read(line []byte) (int, error) {
	for at := range line {
		line[at] = 'x'
	}
	return len(line), nil
}

func logs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if limit, _ := strconv.ParseInt(r.URL.Query().Get("limitBytes"), 10, 64); limit > 0 {
		io.CopyN(w, endless{}, limit)
		return
	}
	follows, _ := strconv.ParseBool(r.URL.Query().Get("follow"))
	for line := 0; line == 0 || follows; line++ {
		if _, err := fmt.Fprintf(w, "line %d\n", line); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		if follows {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}
