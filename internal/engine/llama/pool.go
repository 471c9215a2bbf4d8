package llama

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// pool runs one function on several threads at a time. A step of the model has
// hundreds of such regions of some microseconds each, so workers wait for the next
// one by looking, not by sleeping; between steps they sleep.
//
// What a region computes never depends on how many workers there are or on which
// one does what: every output has one writer and one order of operations.
type pool struct {
	workers int // the caller is one of them
	wake    []chan struct{}
	stop    chan struct{}
	stopped sync.WaitGroup

	running atomic.Bool   // within a step
	region  atomic.Uint64 // counts regions
	left    atomic.Int64  // workers still in the region
	idle    atomic.Int64  // workers that have seen the end of the step

	// The region: task for the numbers below n, in runs of minShare or more, from next on.
	task        func(worker, from, to int)
	n, minShare int
	next        atomic.Int64
}

func newPool(workers int) *pool {
	p := &pool{workers: workers, stop: make(chan struct{})}
	for i := 1; i < workers; i++ {
		wake := make(chan struct{}, 1)
		p.wake = append(p.wake, wake)
		p.stopped.Add(1)
		go p.work(i, wake)
	}
	return p
}

func (p *pool) close() {
	close(p.stop)
	p.stopped.Wait()
}

// step wakes the workers, runs f, and lets them sleep again.
func (p *pool) step(f func() error) error {
	if p.workers == 1 {
		return f()
	}
	p.idle.Store(0)
	p.running.Store(true)
	for _, wake := range p.wake {
		wake <- struct{}{}
	}
	defer func() {
		p.running.Store(false)
		for spins := 0; p.idle.Load() < int64(p.workers-1); spins++ {
			rest(spins)
		}
	}()
	return f()
}

func (p *pool) work(worker int, wake chan struct{}) {
	defer p.stopped.Done()
	defer fault.Watch()
	seen := uint64(0)
	for {
		select {
		case <-wake:
		case <-p.stop:
			return
		}
		for spins := 0; ; spins++ {
			if region := p.region.Load(); region != seen {
				seen, spins = region, 0
				p.share(worker)
				p.left.Add(-1)
				continue
			}
			if !p.running.Load() {
				break
			}
			rest(spins)
		}
		p.idle.Add(1)
	}
}

// rest waits between two looks. It soon lets others have the processor: on a busy machine
// the one that is waited for may be one of them.
func rest(spins int) {
	kernel.Pause()
	if spins > 1024 && spins&0xf == 0 {
		yieldThread()
		runtime.Gosched()
	}
}

// each hands out the numbers below n to the workers, in runs of minShare or more, and returns
// when all are done. It is called within step only, and with a task that exists already: a
// function made for the call would be garbage after it, hundreds of times a step.
func (p *pool) each(n, minShare int, task func(worker, from, to int)) {
	if n <= minShare || p.workers == 1 {
		if n > 0 {
			task(0, 0, n)
		}
		return
	}
	p.task, p.n, p.minShare = task, n, minShare
	p.next.Store(0)
	p.left.Store(int64(p.workers - 1))
	p.region.Add(1)
	p.share(0)
	for spins := 0; p.left.Load() > 0; spins++ {
		rest(spins)
	}
}

// share does a worker's share of the region: long runs first, shorter ones toward the end,
// so that all finish at about the same time.
func (p *pool) share(worker int) {
	for {
		from := int(p.next.Load())
		if from >= p.n {
			return
		}
		to := min(p.n, from+max(p.minShare, (p.n-from)/(2*p.workers)))
		if p.next.CompareAndSwap(int64(from), int64(to)) {
			p.task(worker, from, to)
		}
	}
}
