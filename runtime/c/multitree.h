/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * multitree for C and everything that calls C: collectives on the schedules of multitree, in the
 * shape of NCCL's interface. C99. docs/c-api.md has a complete example.
 *
 * Words used below:
 * - collective: all ranks of the communicator make the call, in the same order with each other
 * - blocking: returns when its work is done or failed, or nothing has moved for the deadline
 * - thread-safe: from any thread at any time
 *
 * Unless said otherwise a function is neither collective nor blocking. Calls on one communicator
 * from several threads take turns; callers keep collectives in one order at all ranks. What is
 * outstanding moves on in any call that tests or waits, and by a thread (mtConfig_t::progress).
 *
 * Every function returns an mtResult_t and never throws. mtGetLastError() has the words. A failure
 * of the network, a peer or a deadline is final for its communicator: all later calls on it return
 * the same result, buffers hold unspecified values, mtCommShrink() makes another of the ranks that
 * are left, and mtCommDestroy() or mtCommAbort() frees it. Wrong arguments change nothing.
 */
#ifndef MULTITREE_H_
#define MULTITREE_H_

#include <limits.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MT_API __attribute__((visibility("default")))
#else
#define MT_API
#endif

#define MT_MAJOR 0
#define MT_MINOR 1
#define MT_PATCH 0
#define MT_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define MT_VERSION_CODE MT_VERSION(MT_MAJOR, MT_MINOR, MT_PATCH)

typedef struct mtComm* mtComm_t;       /**< a communicator: one rank's end of a group */
typedef struct mtRequest* mtRequest_t; /**< a collective that was started, or can be */
typedef void* mtStream_t; /**< NULL: host semantics. Else a CUDA stream: see "streams" below */

/** Results; the first eight as in NCCL. */
typedef enum {
  mtSuccess = 0,
  mtCudaError = 1,       /**< the accelerator failed */
  mtSystemError = 2,     /**< memory, files, the operating system, or the local network */
  mtInternalError = 3,   /**< a bug of ours */
  mtInvalidArgument = 4, /**< an argument is wrong */
  mtInvalidUsage = 5,    /**< the call is wrong here and now */
  mtRemoteError = 6,     /**< another rank died, gave up or cannot be reached; the words name it */
  mtInProgress = 7,      /**< a communicator is still being set up or finalized */
  mtTimeout = 8,         /**< nothing moved for the deadline; the words say what was waited for */
  mtAborted = 9,         /**< mtCommAbort() was called for this communicator by this process */
  mtUnsupported = 10,    /**< valid, but not served by this build, network or algorithm */
  mtNumResults = 11
} mtResult_t;

/** Element types, numbered as in NCCL where it has them. */
typedef enum {
  mtInt8 = 0,
  mtChar = 0,
  mtUint8 = 1,
  mtInt32 = 2,
  mtInt = 2,
  mtUint32 = 3,
  mtInt64 = 4,
  mtUint64 = 5,
  mtFloat16 = 6,
  mtHalf = 6,
  mtFloat32 = 7,
  mtFloat = 7,
  mtFloat64 = 8,
  mtDouble = 8,
  mtBfloat16 = 9,
  mtInt16 = 32,
  mtUint16 = 33
} mtDataType_t;

/** Operators, numbered as in NCCL where it has them; mtRedOpCreate() makes more. Integers wrap.
 * mtAvg divides the sum by the number of ranks at the end; integers truncate. Those from mtBitAnd
 * on are for integers and for host memory; the logical ones give 1 or 0. The order of accumulation
 * is the schedule's: equal in every run, and equal at all ranks. */
typedef enum {
  mtSum = 0,
  mtProd = 1,
  mtMax = 2,
  mtMin = 3,
  mtAvg = 4,
  mtBitAnd = 32,
  mtBitOr = 33,
  mtBitXor = 34,
  mtLogicalAnd = 35,
  mtLogicalOr = 36,
  mtLogicalXor = 37,
  mtMaxRedOp = INT_MAX /**< none: numbers up to here may be operators */
} mtRedOp_t;

#define MT_UNIQUE_ID_BYTES 128
/** Plain bytes, to be sent to the other ranks by any means. */
typedef struct {
  char internal[MT_UNIQUE_ID_BYTES];
} mtUniqueId;

#define MT_CONFIG_UNDEF_INT INT_MIN
#define MT_CONFIG_MAGIC 0x6d744366U

/** How to set up a communicator; start from MT_CONFIG_INITIALIZER. All ranks must agree. */
typedef struct {
  size_t size; /**< set by the initializer, as the next two: which of the fields exist */
  unsigned int magic;
  unsigned int version;
  /** 1 (default): set-up and mtCommFinalize() block. 0: they return mtInProgress and go on in the
   * background; mtCommGetAsyncError() tells when they are done. */
  int blocking;
  int deadlineMs;     /**< longest wait without progress; default 30000, 1 or more */
  int initDeadlineMs; /**< for all ranks to arrive; default 60000, 1 or more */
  /** "ucx"; "tcp", sockets of this library; "loopback", ranks are threads of one process; default:
   * "auto", as the environment variable MULTITREE_TRANSPORT says, else "tcp" between hosts on slow
   * networks and where a rank has no UCX, else "ucx". */
  const char* transport;
  /** A spec as "torus:4x4" or a file, of as many ranks, in its order; default: a full mesh. */
  const char* topology;
  /** As "multitree"; default "auto": the memory of the host where all ranks share one and none has
   * a device, else by predicted time for each size. */
  const char* algorithm;
  /** A file of `multitree tune -o` or `multitree schedule -o`. Its network is the topology (which
   * then must be NULL), its schedules serve their collective, `algorithm` serves the others. */
  const char* planFile;
  /** Largest message, longer ones are pipelined; default 262144 (given as 0). */
  size_t segmentBytes;
  /** 1 (default): buffers may be memory of the CUDA device that is current in the thread that makes
   * the communicator, where the process has loaded CUDA. 0: all are host memory. */
  int devices;
  /** What links take, for algorithm "auto": "declared" (default), as the topology says; "measured",
   * by messages between neighbours when the communicator is made (about 50 ms); "cached", as
   * measured the first time on these hosts; or a file of `multitree run --save-tuning`. NULL: the
   * environment variable MULTITREE_TUNING. Of no effect where the ranks go without messages. */
  const char* tuning;
  /** Who moves non-blocking calls on host memory while the program does something else: "on"
   * (default), a thread of the process, started with the first of them; the number of a core for
   * one there; "off", only mtRequestTest() and mtRequestWait(). NULL: the environment variable
   * MULTITREE_PROGRESS. Ranks may differ. */
  const char* progress;
  /** 1: with algorithm "auto", blocking calls try schedules that prediction cannot tell apart, and
   * go on with the fastest; all ranks make a call blocking or none. 0 (default): they run what was
   * predicted. MT_CONFIG_UNDEF_INT: the environment variable MULTITREE_REFINE, else 0. */
  int refine;
  /** Milliseconds of silence after which a link between hosts is dead, 0: never; all ranks alike.
   * MT_CONFIG_UNDEF_INT: the environment variable MULTITREE_LINK_TIMEOUT (seconds), else 5000. */
  int linkTimeoutMs;
  /** Then calls "stop" (default), "continue" over another way between its ends (transport "tcp"),
   * or "adapt": later ones run other schedules. NULL: the variable MULTITREE_ON_LINK_FAILURE. */
  const char* onLinkFailure;
  /** 1: messages are encrypted ("tcp"); 0. MT_CONFIG_UNDEF_INT: the variable MULTITREE_ENCRYPT. */
  int encrypt;
} mtConfig_t;

#define MT_CONFIG_INITIALIZER                                                                     \
  {                                                                                               \
    sizeof(mtConfig_t), MT_CONFIG_MAGIC, MT_VERSION_CODE, MT_CONFIG_UNDEF_INT,                    \
        MT_CONFIG_UNDEF_INT, MT_CONFIG_UNDEF_INT, NULL, NULL, NULL, NULL, 0, MT_CONFIG_UNDEF_INT, \
        NULL, NULL, MT_CONFIG_UNDEF_INT, MT_CONFIG_UNDEF_INT, NULL, MT_CONFIG_UNDEF_INT           \
  }

/* ---- version and errors; thread-safe ---- */

/** The library's version as MT_VERSION(). Errors: mtInvalidArgument (NULL). */
MT_API mtResult_t mtGetVersion(int* version);
/** What a result means, in a few words. Never NULL; static. */
MT_API const char* mtGetErrorString(mtResult_t result);
/** With NULL, the words of the last failure of any call of this thread; with a communicator, those
 * of the failure that made it unusable. "" if there was none. Valid until the next call of this
 * thread. */
MT_API const char* mtGetLastError(mtComm_t comm);

/* ---- communicators ---- */

/** Thread-safe. Makes an id, and opens a port of this host where the ranks will meet. This process
 * must also call mtCommInitRank() with it, by custom as rank 0. An id serves one communicator.
 * Errors: mtInvalidArgument (NULL), mtSystemError (no port). */
MT_API mtResult_t mtGetUniqueId(mtUniqueId* id);
/** Collective, blocking, thread-safe: joins as `rank` of `nranks`, with the default configuration.
 * On failure *comm is NULL. In a group: returns at once, and mtGroupEnd() waits, so that one thread
 * can make several ranks.
 * Errors: mtInvalidArgument, mtTimeout (names the ranks that did not come), mtRemoteError (names
 * the rank that failed meanwhile), mtSystemError, mtUnsupported (algorithm on this topology). */
MT_API mtResult_t mtCommInitRank(mtComm_t* comm, int nranks, mtUniqueId id, int rank);
/** The same as configured; NULL for the defaults. Blocking unless config->blocking is 0; then
 * mtInProgress, and mtCommGetAsyncError() has the outcome. */
MT_API mtResult_t mtCommInitRankConfig(mtComm_t* comm, int nranks, mtUniqueId id, int rank,
                                       const mtConfig_t* config);
/** The same for the job that this process was started in: by mpirun of Open MPI or MPICH, srun,
 * torchrun, the local launcher, or with MULTITREE_RANK, _SIZE and _RENDEZVOUS set; else a single
 * rank. Once in the life of a process; further communicators by id (mtBroadcast() can carry it). */
MT_API mtResult_t mtCommInitFromEnvironment(mtComm_t* comm, const mtConfig_t* config);
/** Collective, blocking (but see mtConfig_t): completes what is outstanding, waits for all ranks,
 * and closes the connections. Afterwards only mtCommDestroy(), mtCommCount() and mtCommUserRank().
 * Errors: as a collective. */
MT_API mtResult_t mtCommFinalize(mtComm_t comm);
/** Frees a communicator, failed or not. Completes what it has outstanding; the last rank of its job
 * that this process destroys then finalizes all of them, so that one thread may destroy several.
 * Requests stay to be freed. Errors: mtInvalidArgument, those of mtCommFinalize(), for all. */
MT_API mtResult_t mtCommDestroy(mtComm_t comm);
/** Thread-safe, meant for another thread than the one that is blocked. Frees a communicator without
 * waiting for anybody: calls that are blocked on it return mtAborted, as does every later call with
 * this handle; the other ranks get mtRemoteError, which names this rank. Returns within 3 seconds,
 * or, under mtCommInitFromEnvironment(), when the process manager answers. Errors:
 * mtInvalidArgument. */
MT_API mtResult_t mtCommAbort(mtComm_t comm);

/** What is outstanding is finished first, unless there was a failure. */
#define MT_SHRINK_DEFAULT 0
/** What is outstanding is given up, and ranks blocked in it are told. */
#define MT_SHRINK_ABORT 1
/** Schedules avoid the links that have died; may be added to both. */
#define MT_SHRINK_AROUND_LINKS 2
/** Collective over the ranks that are still there, blocking (but see mtConfig_t): a communicator of
 * just them, in the order of their ranks. After a failure, as when mtCommGetAsyncError() says
 * mtRemoteError or mtTimeout, or without one to leave out `excludeRanksList`; those must not call
 * it. Ranks that died or aborted need not be listed. Ranks that do not call within the
 * configuration's initDeadlineMs are left out as well (mtCommCount() tells), and get mtRemoteError.
 * config: NULL for that of `comm`, whose network, if one was named, loses the ranks that are gone.
 * With MT_SHRINK_AROUND_LINKS, at all ranks or none, it loses dead links as well (a full mesh where
 * none was named), and a rank all of whose links are dead is left out; without, a schedule that
 * uses a dead link fails again. Where a schedule cannot be made for what is left, the one for all
 * of it is repaired. `comm` is good for mtCommDestroy() afterwards; where this fails for one more
 * death, for another mtCommShrink(). Where the process that the ranks met in is lost (the one that
 * made the id, or rank 0 of the job), they meet in that of the lowest rank that they can reach. Two
 * parts of a job that cannot reach each other never both go on: the larger one does, or of two
 * halves the one with the lowest rank; the other gets mtRemoteError. In a group: as
 * mtCommInitRank(). Errors: mtInvalidArgument (list, flags), mtInvalidUsage (finalized; shrunk
 * already; an excluded rank called), those of mtCommInitRank(). */
MT_API mtResult_t mtCommShrink(mtComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                               mtComm_t* newcomm, const mtConfig_t* config, int shrinkFlags);
/** Thread-safe, never waits: mtSuccess, mtInProgress, or why the communicator cannot be used any
 * more, also when a peer has died while no call was under way, or a collective on a stream has
 * failed: mtRemoteError, mtTimeout, mtCudaError, mtInvalidUsage (shrunk to another).
 * Errors: mtInvalidArgument. */
MT_API mtResult_t mtCommGetAsyncError(mtComm_t comm, mtResult_t* result);

/** What a communicator failed of; start from MT_FAILURE_INITIALIZER. */
typedef struct {
  size_t size;           /**< set by the initializer: which of the fields exist */
  mtResult_t result;     /**< as mtCommGetAsyncError() */
  int rank;              /**< that died, gave up or aborted, as far as it is known; else -1 */
  int linkLow, linkHigh; /**< ranks at the ends of a link that died, the lower first; else -1 */
} mtFailure_t;
#define MT_FAILURE_INITIALIZER \
  { sizeof(mtFailure_t), mtSuccess, -1, -1, -1 }
/** Thread-safe, never waits: what mtGetLastError(comm) says in words, in ranks of `comm`.
 * Errors: mtInvalidArgument (communicator, failure, size). */
MT_API mtResult_t mtCommGetFailure(mtComm_t comm, mtFailure_t* failure);
/** Thread-safe, never waits. Links between ranks of `comm` that were dead when mtCommShrink() made
 * it: *count of them, and the ends of the first `capacity`, two numbers each. `ends` may be NULL if
 * `capacity` is 0. Errors: mtInvalidArgument, mtInProgress (being set up). */
MT_API mtResult_t mtCommGetDeadLinks(mtComm_t comm, int* ends, int capacity, int* count);
/** Thread-safe. Ranks, and this one. Errors: mtInvalidArgument, mtInProgress (not known yet). */
MT_API mtResult_t mtCommCount(mtComm_t comm, int* count);
MT_API mtResult_t mtCommUserRank(mtComm_t comm, int* rank);

/* ---- collectives: collective, blocking ----
 *
 * `count` is in elements. In place as in NCCL: send == recv; for mtReduceScatter() and mtScatter()
 * recv is the rank's shard inside send, for mtAllGather() and mtGather() send the rank's shard
 * inside recv. Other overlaps are errors. Buffers may be NULL where they are not used, or count is
 * 0. In a group: return at once, and mtGroupEnd() starts and waits.
 *
 * Buffers are host memory, or both memory of the communicator's device (see mtConfig_t). With a
 * NULL stream a call on device memory comes after the default stream's, and returns at its end.
 *
 * Streams: with one, a call is ordered as a kernel on that stream: it starts after the stream's
 * earlier work, the stream's later work sees its result, and it returns at once, or, where the host
 * moves its messages and streams cannot be held, at its end (docs/runtime.md, "Streams"). Buffers
 * are memory of the device or pinned host memory. What fails later is told by
 * mtCommGetAsyncError(); the stream always goes on, with unspecified values in recv. A non-blocking
 * call's request tells the host of the end. mtBarrier() and mtCommFinalize() wait for streams; the
 * first call with a root does not.
 *
 * Errors: mtInvalidArgument (communicator, buffers, count, type, op, root), mtInvalidUsage (stream
 * where the communicator has no device; communicator finalized), mtUnsupported (a stream that is
 * being captured into a graph, where the collective is not one kernel), mtCudaError, mtRemoteError,
 * mtTimeout, mtAborted, mtSystemError.
 */

/** send, recv: count. */
MT_API mtResult_t mtAllReduce(const void* send, void* recv, size_t count, mtDataType_t type,
                              mtRedOp_t op, mtComm_t comm, mtStream_t stream);
/** send: count * ranks; recv: count. */
MT_API mtResult_t mtReduceScatter(const void* send, void* recv, size_t count, mtDataType_t type,
                                  mtRedOp_t op, mtComm_t comm, mtStream_t stream);
/** send: count; recv: count * ranks. */
MT_API mtResult_t mtAllGather(const void* send, void* recv, size_t count, mtDataType_t type,
                              mtComm_t comm, mtStream_t stream);
/** send is read at the root only. */
MT_API mtResult_t mtBroadcast(const void* send, void* recv, size_t count, mtDataType_t type,
                              int root, mtComm_t comm, mtStream_t stream);
/** recv is written at the root only. */
MT_API mtResult_t mtReduce(const void* send, void* recv, size_t count, mtDataType_t type,
                           mtRedOp_t op, int root, mtComm_t comm, mtStream_t stream);
/** send: count elements; recv: count times the ranks, written at the root only. */
MT_API mtResult_t mtGather(const void* send, void* recv, size_t count, mtDataType_t type, int root,
                           mtComm_t comm, mtStream_t stream);
/** send: count times the ranks, read at the root only; recv: count elements. */
MT_API mtResult_t mtScatter(const void* send, void* recv, size_t count, mtDataType_t type, int root,
                            mtComm_t comm, mtStream_t stream);
/** Waits until all ranks are here and all that was started is complete. Not in a group. */
MT_API mtResult_t mtBarrier(mtComm_t comm);

/** Between the two, this thread's collectives (of one communicator or several) are only noted down;
 * the outermost mtGroupEnd() starts them all, waits for those that block, and returns the first
 * error. A wrong argument is returned at once and by mtGroupEnd(), which then starts nothing. Small
 * collectives of one kind, type, operator, root and communicator travel as one (not on streams,
 * with a device, persistent, or with an operator that was made): ranks must group them alike. */
MT_API mtResult_t mtGroupStart(void);
MT_API mtResult_t mtGroupEnd(void);

/* ---- non-blocking: collective ----
 *
 * As above, but return when the collective is started (in a group: noted down). Buffers belong to
 * the library until mtRequestTest() or mtRequestWait() says that it is complete. Many may be
 * outstanding. On failure *request is NULL. mtIBroadcast() and mtIReduce() block in the first call
 * with a root. */

MT_API mtResult_t mtIAllReduce(const void* send, void* recv, size_t count, mtDataType_t type,
                               mtRedOp_t op, mtComm_t comm, mtStream_t stream,
                               mtRequest_t* request);
MT_API mtResult_t mtIReduceScatter(const void* send, void* recv, size_t count, mtDataType_t type,
                                   mtRedOp_t op, mtComm_t comm, mtStream_t stream,
                                   mtRequest_t* request);
MT_API mtResult_t mtIAllGather(const void* send, void* recv, size_t count, mtDataType_t type,
                               mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIBroadcast(const void* send, void* recv, size_t count, mtDataType_t type,
                               int root, mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIReduce(const void* send, void* recv, size_t count, mtDataType_t type,
                            mtRedOp_t op, int root, mtComm_t comm, mtStream_t stream,
                            mtRequest_t* request);
MT_API mtResult_t mtIGather(const void* send, void* recv, size_t count, mtDataType_t type, int root,
                            mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtIScatter(const void* send, void* recv, size_t count, mtDataType_t type,
                             int root, mtComm_t comm, mtStream_t stream, mtRequest_t* request);

/* ---- persistent: planned once, started many times ----
 *
 * The ...Init() functions check and plan, and start nothing; the first with a root is collective
 * and blocking, as it makes its connections. mtStart() is collective and starts it, as the
 * non-blocking functions do. One start at a time: mtInvalidUsage while it is outstanding. */

MT_API mtResult_t mtAllReduceInit(const void* send, void* recv, size_t count, mtDataType_t type,
                                  mtRedOp_t op, mtComm_t comm, mtStream_t stream,
                                  mtRequest_t* request);
MT_API mtResult_t mtReduceScatterInit(const void* send, void* recv, size_t count, mtDataType_t type,
                                      mtRedOp_t op, mtComm_t comm, mtStream_t stream,
                                      mtRequest_t* request);
MT_API mtResult_t mtAllGatherInit(const void* send, void* recv, size_t count, mtDataType_t type,
                                  mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtBroadcastInit(const void* send, void* recv, size_t count, mtDataType_t type,
                                  int root, mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtReduceInit(const void* send, void* recv, size_t count, mtDataType_t type,
                               mtRedOp_t op, int root, mtComm_t comm, mtStream_t stream,
                               mtRequest_t* request);
MT_API mtResult_t mtGatherInit(const void* send, void* recv, size_t count, mtDataType_t type,
                               int root, mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtScatterInit(const void* send, void* recv, size_t count, mtDataType_t type,
                                int root, mtComm_t comm, mtStream_t stream, mtRequest_t* request);
MT_API mtResult_t mtStart(mtRequest_t request);

/* ---- requests ---- */

/** Makes progress; *done is 1 if the collective is complete (or not started), else 0.
 * Errors: mtInvalidArgument, mtInvalidUsage (its group has not ended), those of the collective. */
MT_API mtResult_t mtRequestTest(mtRequest_t request, int* done);
/** Sleeps until something that the communicator has outstanding may move, `microseconds` at most;
 * returns at once if something does in the call. For threads that test again and again, and have
 * other calls come in between: these are not kept waiting. Errors: as mtRequestTest(). */
MT_API mtResult_t mtCommSleep(mtComm_t comm, int microseconds);
/** Blocking. Errors: as mtRequestTest(); mtTimeout also where a stream has not come to the
 * collective for the deadline: then it is outstanding still, and the communicator is as good as
 * before. */
MT_API mtResult_t mtRequestWait(mtRequest_t request);
/** Frees every kind of request and sets it to NULL; an unfinished one is waited for. A NULL request
 * is nothing to do. Errors: those of the wait; it is freed in any case. */
MT_API mtResult_t mtRequestFree(mtRequest_t* request);

#ifdef __cplusplus
}
#endif

#include "multitree_exchange.h"  /* messages between ranks, and collectives with a count for each */
#include "multitree_memory.h"    /* memory that the ranks of a host share */
#include "multitree_operators.h" /* operators that are made at run time */
#include "multitree_parts.h"     /* communicators of fewer or more ranks */
#include "multitree_streams.h"   /* the device of a communicator */
#include "multitree_waits.h"     /* how blocking calls wait */

#endif /* MULTITREE_H_ */
