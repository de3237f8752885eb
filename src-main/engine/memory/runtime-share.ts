/** What a process of the engine holds before it has a model. */

/**
 * Options of V8 for processes of the engine; `npm run job` and the like give them to Node. New arrays soon count as old ones, which are
 * collected together: with the 16 MB of the default, a job on the demo's models comes to 50 MB more and is no faster.
 */
export const engineFlags: readonly string[] = ['--max-semi-space-size=1']

/**
 * Node with the engine's own code, ONNX Runtime and tokenizers, bytes: what is left of the peak of jobs on the demo's models (of one
 * megabyte each) when all else is taken off. onnxruntime-node 1.30 on Node 20 and Linux; half of it are pages of program files.
 */
export const runtimeBytes = 128e6

/** A session over a graph of a few nodes, as links have: its threads and the first stretch of memory that it takes. */
export const smallSessionBytes = 1.2e6
