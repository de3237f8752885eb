/**
 * What main and an engine process say to each other. The order: engine `ready`; main `start`; engine `event`s and `heartbeat`s,
 * meanwhile perhaps main `stop`; engine `ended` when its last event is out; main `exit`, so that no message is lost on the way.
 */
import { z } from 'zod'
import { jobEvent } from '../engine/job-events'
import { jobSpec } from '../engine/job-spec'
import type { Child, ChildListener, Spawn } from './child'

export const toEngine = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('start'), spec: jobSpec, resume: z.boolean() }),
  /** Stop at the next step boundary, in a state that can be resumed. */
  z.strictObject({ kind: z.literal('stop') }),
  z.strictObject({ kind: z.literal('exit') }),
])

export const fromEngine = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ready') }),
  z.strictObject({ kind: z.literal('event'), event: jobEvent }),
  /** Once a second while the engine's thread is free; heartbeat.json beats on while it computes. */
  z.strictObject({ kind: z.literal('heartbeat'), time: z.number(), memoryBytes: z.number() }),
  z.strictObject({ kind: z.literal('ended') }),
])

export type ToEngine = z.infer<typeof toEngine>
export type FromEngine = z.infer<typeof fromEngine>

/** The engine's end of the line. */
export interface EngineChannel {
  send(message: FromEngine): void
  /** One listener; what comes is checked by whoever listens. */
  listen(listener: (message: unknown) => void): void
}

export type EngineChild = Child<ToEngine>
export type EngineListener = ChildListener
export type SpawnEngine = Spawn<ToEngine>
