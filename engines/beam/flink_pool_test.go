package beam

import (
	"context"
	"net"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// workerPool starts workers in this process when a runner asks for them. Beam's own for
// LOOPBACK knows workers by the numbers that runners give them. Every task manager of Flink
// begins at 1, so that it refuses all but the first one's: "worker with ID "1-1" already
// exists".
type workerPool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	ctx context.Context
}

// startPool returns its address, for EXTERNAL.
func startPool(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, &workerPool{ctx: context.Background()})
	go server.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// StartWorker starts one, which ends with the connection to its task manager.
func (p *workerPool) StartWorker(_ context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	ctx := grpcx.WriteWorkerID(p.ctx, r.GetWorkerId())
	go harness.MainWithOptions(ctx, r.GetLoggingEndpoint().GetUrl(), r.GetControlEndpoint().GetUrl(), harness.Options{}) //nolint:errcheck // the runner reports it
	return &fnpb.StartWorkerResponse{}, nil
}

// StopWorker has nothing to do.
func (*workerPool) StopWorker(context.Context, *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	return &fnpb.StopWorkerResponse{}, nil
}
