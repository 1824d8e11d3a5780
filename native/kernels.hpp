// Arguments of kernels: arrays owned by the caller, and plain numbers. Each instruction set
// provides one table of kernel functions; dispatch.cpp selects the table at run time.
#pragma once

#include <cstdint>

namespace opelda {

// Documents (CSR, words sorted, counts > 0) and topics (word-major, rows padded with zeros to a
// multiple of 16 floats).
struct Problem {
    const float* rows;
    int64_t stride;
    int64_t n_topics;
    const int64_t* indptr;
    const int32_t* words;
    const float* counts;
    int64_t n_docs;
    int64_t max_words;  // distinct words of the longest document
    const float* alpha;
    const int32_t* ids;  // the rows' words if they are not 0, 1, 2, ...; a document's key depends
                         // on these words; or null
    // The rows as one-byte floats rounded up (coarse.hpp), or null. Each block of 64 topics is 16
    // integers of four bytes: byte g of integer i belongs to topic 16 g + i of the block, so that
    // shifts alone unpack it.
    const int32_t* coarse;
    int64_t coarse_stride;  // integers per row
    const float* coarse_scale;
    const double* prior = nullptr;  // alpha in double precision where a certificate is about it

    // Approximate multiplications and additions of `n_iter` iterations.
    int64_t work(int64_t n_iter) const { return indptr[n_docs] * stride * n_iter; }
};

// Per-document outputs; null where the caller does not want them.
struct Outputs {
    float* theta;  // n_docs x n_topics
    int32_t* n_iter;
    double* gap;
    double* likelihood_gap;
    double* log_likelihood;
    double* log_prior;
    double* likelihood_loss;  // upper bound of the gain in log-likelihood of any mixture
    float* factors;           // n_docs x n_topics: VB's exp(E[log theta]) up to a factor a document
    int32_t* kept_topics;     // n_docs x (topics kept): EM's
    float* kept_shares;
};

// A schedule of OPE (see inference/ope.py). After s moves the unnormalised mixture is base[s] *
// start + (times picked).
struct OpePlan {
    int64_t n_moves;
    int64_t n_sequences;
    const float* a;  // n_sequences x n_moves: weight of the likelihood's gradient at each move, > 0
    const float* b;  // n_sequences x n_moves: weight of the prior's
    const float* a2;  // second sequence of the two-sequence variants, or null
    const float* b2;
    const float* coin;         // n_moves: uniform numbers of OPE2, or null for OPE3's larger f
    const float* base;         // n_moves + 1
    const float* start;        // n_topics
    const float* start_words;  // V: sum_k start_k beta_kj
    bool by_content;  // a document's key chooses its sequence; otherwise all follow the first
    uint64_t seed;
    int64_t n_restarts;  // sequences tried per document, the best f is kept
    double tol;          // stop when gap <= tol * tokens; 0: never
    bool screen;
};

// Parameters of the iterative methods, as in engines/seam.py. With `tol` 0, no method stops early.
struct VbSettings {
    int64_t n_iter;  // maximum
    double tol;
    const double* start;  // n_topics: the first gamma, or null
};

struct Cvb0Settings {
    int64_t burn_in, n_samples;   // discarded passes, averaged passes
    double scale, offset, decay;  // the rate of visit t is scale / (offset + t)^decay
};

struct CvbSettings {
    int64_t n_iter;  // maximum
    double tol;
};

struct CgsSettings {
    int64_t burn_in, n_samples;  // discarded sweeps, averaged sweeps
    const uint64_t* keys;        // n_docs: of the streams of random numbers
    int64_t max_tokens;          // of the longest document
};

struct PosteriorSettings {
    int64_t burn_in, n_samples;  // discarded sweeps, used sweeps
    int64_t n_tables;            // of topics, side by side in the rows
    const uint64_t* keys;        // n_docs: of the streams of random numbers
    const int32_t* main;         // n_docs: a topic each
    int64_t max_tokens;          // of the longest document
    double level;                // of the intervals
    double z_level, z_tail;      // standard normal quantiles of level and (1 + level) / 2
    float* lower;                // n_docs x topics of a table
    float* upper;
    float* probability;  // n_docs: that the main topic has the largest share
};

struct FwSettings {
    int64_t n_iter;
    const double* steps;  // n_iter
};

struct EmSettings {
    int64_t n_iter;
    int64_t n_kept;            // topics
    const float* start_words;  // V: sum_k start_k beta_kj
};

struct ExactSettings {
    double max_loss, max_loss_per_token;  // nats
    const float* start_words;             // V: the words' means over topics
    int64_t max_work;                     // multiply-adds of a document
};

// The rows of a learner, and output for the topics of a batch's words:
// lambda_jk = scale * kept_jk + prior_weight * eta_jk.
struct TopicRows {
    const float* kept;
    int64_t stride;
    int64_t n_topics;
    float scale, prior_weight;
    float prior;               // eta where it is one number
    const float* prior_words;  // eta per word, or null
    const float* prior_rows;   // eta per word and topic, in rows like those kept, or null
    const float* inverse;      // stride: 1 / sum_j lambda_jk
    const double* digamma;     // stride: psi(sum_j lambda_jk)
    bool logs;                 // exp(E[log beta]) instead of the mean of beta
    const int32_t* words;      // n_words, or null for all
    int64_t n_words;
    float* rows;  // n_words x stride
    float* mean;  // n_words
};

// Topics picked by OPE and their shares, in groups of four (padded with shares of 0), so that
// branches at loop ends are predictable.
struct FourPicks {
    int32_t topic[4];
    float share[4];
};

// The mixtures of a batch: dense, or OPE's picks plus a rest distributed like its start.
struct Mixtures {
    const float* theta;  // documents x n_topics, or null
    const FourPicks* fours;
    const int32_t* first;      // documents + 1: offsets of a document's picks
    const float* rest;         // documents
    const float* start;        // stride
    const float* start_words;  // n_words: sum_k start_k beta_jk
};

// A document that holds a word, and how often.
struct Entry {
    int32_t doc;
    float count;
};

// A batch by words and its mixtures, to be added to the learner's rows.
struct Addition {
    float* kept;
    int64_t stride;
    int64_t n_topics;
    int64_t n_words;
    const int32_t* words;   // n_words: which of the rows kept
    const int64_t* starts;  // n_words + 1
    const Entry* entries;
    const float* rows;  // n_words x stride
    Mixtures mixtures;
    bool divide;        // entries are d_j beta_jk / x_dj instead of d_j
    const float* gain;  // stride
    int64_t block;      // words per row of totals
    double* totals;     // blocks x stride: growth of the learner's rows
};

// A count becomes at most this many tokens: more tokens take time and add little information.
constexpr int64_t kMostTokens = 16;
inline int64_t tokens_of(float count) {
    if (count >= float(kMostTokens)) return kMostTokens;
    const int64_t whole = int64_t(count);
    return whole + (float(whole) < count);
}

constexpr int kSlots = 8;
constexpr int kFetched = 64;  // maximum number of prefetched tokens
// The number of groups of a document is a multiple of this step, so that two bytes address a
// token's document in larger blocks. (A larger step would map first groups to fewer cache sets.)
constexpr int kGroupStep = 2;

// Some of a document's topics during a sweep: sizes and topics; an empty slot has topic n_topics.
// The remaining fields are used in a document's first group only.
struct alignas(64) SlotGroup {
    float sizes[kSlots];
    uint16_t topics[kSlots];
    uint64_t key;  // of the document's random numbers
    uint32_t n_slots;
    uint32_t prior_row;  // of the document's prior
};

// All documents' topics between sweeps, packed.
struct SlotStore;
struct Sweep;
// Unpacks the topics of a block's documents into groups, or `none`, and packs them again: largest
// first, without empty slots.
void load_slots(const Sweep& sweep, int64_t block, SlotGroup* groups, bool none);
void save_slots(const Sweep& sweep, int64_t block, const SlotGroup* groups);

// A collection in blocks of documents; each token has a topic to be redrawn. A block's tokens are
// ordered by word: run i is of the word run_words[i].
struct Sweep {
    const int64_t* block_docs;    // n_blocks + 1
    const int64_t* block_groups;  // n_blocks + 1
    const int64_t* block_runs;    // n_blocks + 1
    const int32_t* run_words;
    const int64_t* run_starts;  // of each run's tokens, and their end
    const uint16_t* at;         // tokens: the document's first group in the block / kGroupStep;
                                // padded for prefetching
    const uint8_t* run_alike;   // whether a run's tokens all weigh 1; null: true for all runs
    const float* sizes;         // of tokens in their documents; null: all are 1
    const float* weights;       // of tokens in the counts, likewise
    uint16_t* z;
    SlotStore* slots;
    int64_t most_groups;         // of a block
    const int64_t* first_group;  // of each document
    int64_t n_topics;
    int64_t stride;
    // beta of each word: `base` except for some topics, or dense rows if given
    const int64_t* row_starts;
    const int32_t* row_topics;
    const float* row_values;
    const float* base;
    const float* dense;
    int64_t n_priors;            // of mixtures
    const uint16_t* prior_rows;  // documents; null: all have the first prior
    const float* prior;          // words x n_priors: sum_k alpha_k beta_kj
    const float* alpha;          // n_priors x stride, padded with zeros
    const float* inverse;        // stride: increase of a probability by a token of weight 1
    const uint64_t* keys;        // of documents
    uint64_t seed;               // of this sweep, mixed
    bool fresh;                  // the tokens have no topics yet
    bool given;                  // tokens have topics, but the documents' slots are not filled
    int64_t n_draws;
};

// Functions of threads.hpp. They are not inline, and kernels call no inline functions of the
// standard library: the linker could keep a copy built for one processor for all.
struct Queue;
bool take(Queue& queue, int64_t& begin, int64_t& end);
bool stopped();
[[noreturn]] void out_of_memory();  // throws std::bad_alloc

// Receives the topics and shares of a document.
struct PickSink;
void append(PickSink& sink, int64_t document, int64_t n, const int32_t* topics,
            const float* shares);

// Rows to be written as one-byte floats.
struct Coarsening {
    const float* rows;
    int64_t stride;
    int32_t* coarse;
    int64_t coarse_stride;
    float* coarse_scale;
};

// Runs on one thread of a call, and takes ranges of documents or words from the queue.
template <class Settings> using Solve = void(const Problem&, const Settings&, const Outputs&,
                                             Queue&);

struct Kernels {
    const char* name;
    void (*ope)(const Problem&, const OpePlan&, const Outputs&, Queue&, PickSink*);
    Solve<VbSettings>* vb;
    Solve<Cvb0Settings>* cvb0;
    Solve<CvbSettings>* cvb;
    Solve<CgsSettings>* cgs;
    Solve<PosteriorSettings>* posterior;
    Solve<FwSettings>* fw;
    Solve<EmSettings>* em;
    void (*exact)(const Problem&, const ExactSettings&, const Outputs&, Queue&, PickSink*);
    void (*certify)(const Problem&, const float* theta, const Outputs&, Queue&);
    void (*topic_rows)(const TopicRows&, Queue&);
    void (*add)(const Addition&, Queue&);
    void (*sweep)(const Sweep&, Queue&);
    void (*coarsen)(const Coarsening&, Queue&);
    void (*read_rows)(const Problem&, Queue&, int64_t ahead, float* sum);
};

const Kernels& best_kernels();
bool use_kernels(const char* name);

}  // namespace opelda
