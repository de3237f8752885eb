/** What a process of the engine holds before it has a model. */

/**
 * Node with the engine's own code and ONNX Runtime with its libraries, bytes: measured with onnxruntime-node 1.30 on Node 20 and Linux,
 * of which two thirds are pages of program files.
 */
export const runtimeBytes = 105e6
