/** All that the sandboxed page gets of the app: ask main something of the contract, and hear its events. */
import { contextBridge, ipcRenderer } from 'electron'
import { eventChannel, requestChannel } from './bridge/channels'
import type { EventName, StudioBridge } from './bridge/contract'

const listeners = new Map<string, Set<(payload: unknown) => void>>()

ipcRenderer.on(eventChannel, (_event, name: EventName, payload: unknown) => {
  for (const listener of listeners.get(name) ?? []) listener(payload)
})

const bridge: StudioBridge = {
  request: (name, params) => ipcRenderer.invoke(requestChannel, name, params),
  on: (name, listener) => {
    const own = listeners.get(name) ?? new Set<(payload: unknown) => void>()
    listeners.set(name, own)
    const listen = listener as (payload: unknown) => void
    own.add(listen)
    return () => void own.delete(listen)
  },
}

contextBridge.exposeInMainWorld('studio', bridge)
