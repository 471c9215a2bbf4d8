package llama

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/lm/internal/kernel"
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
	task    func(worker int)
	left    atomic.Int64 // workers still in the region
	idle    atomic.Int64 // workers that have seen the end of the step
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

// run calls task once for each worker and returns when all are done. It is called
// within step only.
func (p *pool) run(task func(worker int)) {
	if p.workers == 1 {
		task(0)
		return
	}
	p.task = task
	p.left.Store(int64(p.workers - 1))
	p.region.Add(1)
	task(0)
	for spins := 0; p.left.Load() > 0; spins++ {
		rest(spins)
	}
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
				p.task(worker)
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

// each hands out the numbers below n to the workers, in runs of at least least: long
// ones first, shorter ones toward the end, so that all finish at about the same time.
func (p *pool) each(n, least int, f func(worker, from, to int)) {
	if n <= least || p.workers == 1 {
		if n > 0 {
			f(0, 0, n)
		}
		return
	}
	var next atomic.Int64
	p.run(func(worker int) {
		for {
			from := int(next.Load())
			if from >= n {
				return
			}
			to := min(n, from+max(least, (n-from)/(2*p.workers)))
			if next.CompareAndSwap(int64(from), int64(to)) {
				f(worker, from, to)
			}
		}
	})
}
