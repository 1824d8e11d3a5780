// Search runs in a worker, which browsers refuse to pages that are opened from a folder. There it runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}))
      const script = this.inside.document.createElement("script")
      script.src = url
      this.loaded = new Promise((done) => script.addEventListener("load", done))
      this.inside.document.body.append(script)
    }

    async postMessage(data) {
      await this.loaded
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data}))
    }
  }
  window.Worker = window.IFrameWorker
}
