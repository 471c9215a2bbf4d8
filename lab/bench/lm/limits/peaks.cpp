// What this machine can do at most, measured: float32 multiply-adds and int8 dot
// products out of registers, and bytes read from memory. Prints a JSON object for a
// number of threads.
//
//   c++ -O2 -march=native -pthread peaks.cpp -o peaks && ./peaks 2
//
// A multiply-add is two operations. A product of int8 numbers that is added to an int32 is
// two operations as well.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

constexpr int kChains = 12; // independent sums: more than latency × units of any processor
constexpr long kTurns = 200'000'000 / kChains;
constexpr int kTries = 9;

std::atomic<long> sink; // results go here, so that nothing is left out

#if defined(__AVX512F__)
using Floats = __m512;
Floats fma(Floats x, Floats y, Floats sum) { return _mm512_fmadd_ps(x, y, sum); }
Floats all(float x) { return _mm512_set1_ps(x); }
#elif defined(__FMA__)
using Floats = __m256;
Floats fma(Floats x, Floats y, Floats sum) { return _mm256_fmadd_ps(x, y, sum); }
Floats all(float x) { return _mm256_set1_ps(x); }
#elif defined(__aarch64__)
using Floats = float32x4_t;
Floats fma(Floats x, Floats y, Floats sum) { return vfmaq_f32(sum, x, y); }
Floats all(float x) { return vdupq_n_f32(x); }
#else
using Floats = float;
Floats fma(Floats x, Floats y, Floats sum) { return x * y + sum; }
Floats all(float x) { return x; }
#endif

// dot adds products of int8 numbers to int32 sums; kProducts of them at once.
#if defined(__AVX512VNNI__)
using Bytes = __m512i;
using Sums = __m512i;
constexpr int kProducts = 64;
const char *kDot = "AVX-512 VNNI";
Bytes bytes() { return _mm512_set1_epi8(3); }
Sums zero() { return _mm512_setzero_si512(); }
Sums dot(Bytes x, Bytes y, Sums sum) {
	asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y)); // of the intrinsic, GCC makes moves as well
	return sum;
}
#elif defined(__AVXVNNI__)
using Bytes = __m256i;
using Sums = __m256i;
constexpr int kProducts = 32;
const char *kDot = "AVX-VNNI";
Bytes bytes() { return _mm256_set1_epi8(3); }
Sums zero() { return _mm256_setzero_si256(); }
Sums dot(Bytes x, Bytes y, Sums sum) {
	asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
	return sum;
}
#elif defined(__AVX2__)
using Bytes = __m256i;
using Sums = __m256i;
constexpr int kProducts = 32;
const char *kDot = "AVX2";
Bytes bytes() { return _mm256_set1_epi8(3); }
Sums zero() { return _mm256_setzero_si256(); }
Sums dot(Bytes x, Bytes y, Sums sum) {
	asm volatile("" : "+x"(x)); // or the products would be taken out of the loop
	return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), _mm256_set1_epi16(1)));
}
#elif defined(__ARM_FEATURE_MATMUL_INT8)
using Bytes = int8x16_t;
using Sums = int32x4_t;
constexpr int kProducts = 32;
const char *kDot = "i8mm";
Bytes bytes() { return vdupq_n_s8(3); }
Sums zero() { return vdupq_n_s32(0); }
Sums dot(Bytes x, Bytes y, Sums sum) { return vmmlaq_s32(sum, x, y); }
#elif defined(__ARM_FEATURE_DOTPROD)
using Bytes = int8x16_t;
using Sums = int32x4_t;
constexpr int kProducts = 16;
const char *kDot = "dot product";
Bytes bytes() { return vdupq_n_s8(3); }
Sums zero() { return vdupq_n_s32(0); }
Sums dot(Bytes x, Bytes y, Sums sum) { return vdotq_s32(sum, x, y); }
#else
#define NO_DOT
#endif

template <typename T> void keep(const T &value) {
	long first = 0;
	memcpy(&first, &value, std::min(sizeof value, sizeof first));
	sink += first;
}

__attribute__((noinline)) void floats() {
	Floats sum[kChains];
	for (auto &s : sum) s = all(static_cast<float>(sink.load() & 1));
	const Floats x = all(0.999f), y = all(0.001f);
	for (long i = 0; i < kTurns; i++)
#pragma GCC unroll 16
		for (int j = 0; j < kChains; j++) sum[j] = fma(sum[j], x, y);
	for (auto &s : sum) keep(s);
}

#ifndef NO_DOT
__attribute__((noinline)) void dots() {
	Sums sum[kChains];
	for (auto &s : sum) s = zero();
	const Bytes x = bytes(), y = bytes();
	for (long i = 0; i < kTurns; i++)
#pragma GCC unroll 16
		for (int j = 0; j < kChains; j++) sum[j] = dot(x, y, sum[j]);
	for (auto &s : sum) keep(s);
}
#endif

using Word = uint64_t __attribute__((vector_size(64)));

__attribute__((noinline)) void read(const Word *from, const Word *to) {
	Word sum[8] = {};
	for (; from < to; from += 8)
#pragma GCC unroll 8
		for (int j = 0; j < 8; j++) sum[j] += from[j];
	for (auto &s : sum) keep(s);
}

// best seconds of some tries, all threads from one start to the last one's end.
double best(int threads, const std::function<void(int)> &work) {
	double least = 1e9;
	for (int t = 0; t < kTries; t++) {
		std::vector<std::thread> list;
		auto begin = std::chrono::steady_clock::now();
		for (int i = 0; i < threads; i++) list.emplace_back(work, i);
		for (auto &one : list) one.join();
		std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
		least = std::min(least, took.count());
	}
	return least;
}

} // namespace

int main(int count, char **args) {
	int threads = count > 1 ? std::max(1, atoi(args[1])) : 1;
	double turns = static_cast<double>(kTurns) * kChains * threads * 2 / 1e9;
	double f32 = turns * (sizeof(Floats) / sizeof(float)) / best(threads, [](int) { floats(); });
	double int8 = 0;
	const char *name = "";
#ifndef NO_DOT
	int8 = turns * kProducts / best(threads, [](int) { dots(); });
	name = kDot;
#endif
	// More than any processor's last cache, so that all of it comes from memory.
	const size_t size = size_t{512} << 20, words = size / sizeof(Word);
	auto *memory = static_cast<Word *>(aligned_alloc(64, size));
	if (!memory) {
		fprintf(stderr, "there is no room for %zu bytes\n", size);
		return 1;
	}
	memset(memory, 1, size);
	double gb = size / 1e9 / best(threads, [&](int i) {
		size_t part = words / threads / 8 * 8;
		read(memory + i * part, memory + (i + 1) * part);
	});
	free(memory);
	printf("{\"threads\": %d, \"f32_gops\": %.1f, \"int8_gops\": %.1f, \"dot\": \"%s\", \"read_gbs\": %.2f}\n", threads, f32, int8, name, gb);
	return 0;
}
