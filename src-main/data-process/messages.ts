/**
 * What main and the data process say to each other. The order: process `ready`; main `start`; then calls, each answered once, with
 * progress and orders in between. A ticket names a call to whoever waits for it: progress carries it, `cancel` takes it.
 */
import type { RowOrderState, StudioError } from '../bridge/contract'
import type { DataService } from './service'

export type Operation = keyof DataService
export type Params<O extends Operation> = Parameters<DataService[O]>[0]
export type Result<O extends Operation> = Awaited<ReturnType<DataService[O]>>

export interface Progress {
  readonly ticket: string
  /** 0 to 1; null where only `done` is known. */
  readonly share: number | null
  readonly done: number
  readonly unit: string
}

export type ToData =
  /** Handles are numbered from here, so that none of an earlier process comes again. */
  | { readonly kind: 'start'; readonly firstHandle: number }
  | {
      readonly kind: 'call'
      readonly id: number
      readonly operation: Operation
      readonly params: unknown
      readonly ticket: string | null
    }
  | { readonly kind: 'cancel'; readonly ticket: string }

export type FromData =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly error: StudioError }
  /** By a defect of ours. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly stack: string | undefined }
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'order'; readonly state: RowOrderState }

/** The process's end of the line. */
export interface DataChannel {
  send(message: FromData): void
  listen(listener: (message: ToData) => void): void
}
