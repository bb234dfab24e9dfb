; made from sources 9ba450c9f0223ad2ff62b8b0af40cf5077723c20fa067b6e3a91d5d2166d66cd by make native
%struct.Packed = type { [5 x ptr], i64 }
%struct.Tensor = type { ptr, i64, i32, i32, ptr, ptr, i64 }
%struct.Operation = type { i32, i32, ptr, i64, i64, i64, i64, i64, i32, i32, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64 }
%struct.Arrays = type { [8 x i64], [8 x ptr], [8 x ptr] }
%struct.Room = type { i64, ptr, ptr }

@TYPE = external constant i64
@BYTES_SIZE = external constant i64
@BYTES_DATA = external constant i64
@COUNTS_NONE = external constant i64
@REFERENCES = external constant i64

define ptr @launch(ptr nocapture readonly %0, ptr nocapture readonly %1, i64 %2, ptr readnone %3) #0 {
  %5 = alloca [40 x i8], align 8
  %6 = alloca %struct.Packed, align 8
  %7 = alloca %struct.Tensor, align 8
  %8 = alloca [32 x i64], align 16
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i64, align 8
  %14 = alloca [4096 x i8], align 16
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds nuw i8, ptr %16, i64 24
  %18 = load ptr, ptr %17, align 8
  %19 = and i64 %2, 9223372036854775807
  %20 = icmp eq ptr %3, null
  br i1 %20, label %28, label %21

21:
  %22 = getelementptr inbounds nuw i8, ptr %18, i64 24
  %23 = load ptr, ptr %22, align 8
  %24 = tail call ptr %23(i64 -1) #5
  %25 = getelementptr inbounds nuw i8, ptr %16, i64 16
  %26 = load ptr, ptr %25, align 8
  %27 = tail call fastcc ptr @call_python(ptr %18, ptr %26, ptr %24, ptr %1, i64 %19) #6
  br label %796

28:
  %29 = load atomic i64, ptr %16 acquire, align 8
  %30 = icmp eq i64 %29, 0
  br i1 %30, label %792, label %31

31:
  %32 = inttoptr i64 %29 to ptr
  %33 = getelementptr inbounds nuw i8, ptr %18, i64 40
  %34 = icmp eq i64 %19, 0
  %35 = load i64, ptr @TYPE, align 8
  %36 = getelementptr inbounds nuw i8, ptr %18, i64 136
  %37 = getelementptr inbounds nuw i8, ptr %18, i64 40
  %38 = getelementptr inbounds nuw i8, ptr %7, i64 8
  %39 = getelementptr inbounds nuw i8, ptr %7, i64 20
  %40 = getelementptr inbounds nuw i8, ptr %7, i64 16
  %41 = getelementptr inbounds nuw i8, ptr %7, i64 32
  %42 = getelementptr inbounds nuw i8, ptr %7, i64 24
  %43 = getelementptr inbounds nuw i8, ptr %7, i64 40
  %44 = getelementptr inbounds nuw i8, ptr %7, i64 24
  %45 = getelementptr inbounds nuw i8, ptr %18, i64 144
  %46 = load i64, ptr @BYTES_SIZE, align 8
  %47 = load i64, ptr @BYTES_DATA, align 8
  %48 = getelementptr inbounds nuw i8, ptr %18, i64 128
  %49 = getelementptr inbounds nuw i8, ptr %18, i64 8
  %50 = getelementptr inbounds nuw i8, ptr %18, i64 8
  %51 = getelementptr inbounds nuw i8, ptr %18, i64 8
  %52 = getelementptr inbounds nuw i8, ptr %18, i64 16
  %53 = getelementptr inbounds nuw i8, ptr %18, i64 32
  %54 = getelementptr inbounds nuw i8, ptr %18, i64 40
  %55 = getelementptr inbounds nuw i8, ptr %18, i64 8
  br label %56

56:
  %57 = phi ptr [ %32, %31 ], [ %790, %789 ]
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %13)
  %58 = getelementptr inbounds nuw i8, ptr %57, i64 8
  %59 = load i32, ptr %58, align 8
  %60 = sext i32 %59 to i64
  %61 = icmp eq i64 %19, %60
  br i1 %61, label %62, label %788

62:
  %63 = getelementptr inbounds nuw i8, ptr %57, i64 48
  %64 = load ptr, ptr %63, align 8
  %65 = icmp eq ptr %64, null
  br i1 %65, label %71, label %66

66:
  %67 = load ptr, ptr %64, align 8
  %68 = getelementptr inbounds nuw i8, ptr %57, i64 56
  %69 = load ptr, ptr %68, align 8
  %70 = icmp eq ptr %67, %69
  br i1 %70, label %71, label %788

71:
  %72 = getelementptr inbounds nuw i8, ptr %57, i64 64
  %73 = load ptr, ptr %72, align 8
  %74 = icmp eq ptr %73, null
  br i1 %74, label %83, label %75

75:
  store i64 0, ptr %13, align 8
  %76 = call i32 %73(ptr null, ptr nonnull %13) #5
  %77 = icmp eq i32 %76, 0
  br i1 %77, label %78, label %788

78:
  %79 = load i64, ptr %13, align 8
  %80 = getelementptr inbounds nuw i8, ptr %57, i64 72
  %81 = load i64, ptr %80, align 8
  %82 = icmp eq i64 %79, %81
  br i1 %82, label %83, label %788

83:
  %84 = getelementptr inbounds nuw i8, ptr %57, i64 80
  %85 = load ptr, ptr %84, align 8
  %86 = icmp eq ptr %85, null
  br i1 %86, label %94, label %87

87:
  %88 = call i64 %85() #5
  %89 = getelementptr inbounds nuw i8, ptr %57, i64 88
  %90 = load i64, ptr %89, align 8
  %91 = icmp eq i64 %88, %90
  br i1 %91, label %94, label %92

92:
  %93 = load ptr, ptr %33, align 8
  call void %93() #5
  br label %788

94:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %13)
  %95 = getelementptr inbounds nuw i8, ptr %57, i64 12
  %96 = load i32, ptr %95, align 4
  %97 = and i32 %96, 2
  %98 = icmp eq i32 %97, 0
  br i1 %98, label %107, label %99

99:
  %100 = getelementptr inbounds nuw i8, ptr %57, i64 16
  br label %101

101:
  %102 = phi i64 [ %104, %101 ], [ 0, %99 ]
  %103 = getelementptr inbounds i8, ptr %14, i64 %102
  store volatile i64 0, ptr %103, align 8
  %104 = add i64 %102, 8
  %105 = load i64, ptr %100, align 8
  %106 = icmp slt i64 %104, %105
  br i1 %106, label %101, label %107

107:
  br i1 %34, label %676, label %108

108:
  %109 = getelementptr inbounds nuw i8, ptr %57, i64 144
  br label %110

110:
  %111 = phi i64 [ 0, %108 ], [ %674, %673 ]
  %112 = getelementptr inbounds nuw [0 x %struct.Operation], ptr %109, i64 0, i64 %111
  %113 = getelementptr inbounds nuw ptr, ptr %1, i64 %111
  %114 = load ptr, ptr %113, align 8
  %115 = getelementptr inbounds i8, ptr %114, i64 %35
  %116 = load ptr, ptr %115, align 8
  %117 = getelementptr inbounds nuw i8, ptr %112, i64 8
  %118 = load ptr, ptr %117, align 8
  %119 = icmp eq ptr %116, %118
  br i1 %119, label %120, label %789

120:
  %121 = getelementptr inbounds nuw i8, ptr %112, i64 4
  %122 = load i32, ptr %121, align 4
  %123 = zext i32 %122 to i64
  %124 = getelementptr inbounds nuw i8, ptr %14, i64 %123
  %125 = load i32, ptr %112, align 8
  switch i32 %125, label %789 [
    i32 0, label %126
    i32 1, label %158
    i32 2, label %174
    i32 3, label %199
    i32 4, label %221
    i32 5, label %227
    i32 6, label %234
    i32 7, label %238
    i32 8, label %274
    i32 9, label %407
    i32 10, label %673
    i32 11, label %513
    i32 12, label %518
  ]

126:
  %127 = getelementptr inbounds nuw i8, ptr %112, i64 72
  %128 = load i64, ptr %127, align 8
  %129 = getelementptr inbounds i8, ptr %114, i64 %128
  %130 = getelementptr inbounds nuw i8, ptr %112, i64 32
  %131 = load i64, ptr %130, align 8
  %132 = icmp eq i64 %131, 0
  br i1 %132, label %142, label %133

133:
  %134 = getelementptr inbounds nuw i8, ptr %112, i64 80
  %135 = load i64, ptr %134, align 8
  %136 = getelementptr inbounds i8, ptr %114, i64 %135
  %137 = load i64, ptr %136, align 1
  %138 = and i64 %137, %131
  %139 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %140 = load i64, ptr %139, align 8
  %141 = icmp eq i64 %138, %140
  br i1 %141, label %142, label %789

142:
  %143 = getelementptr inbounds nuw i8, ptr %112, i64 16
  %144 = load i64, ptr %143, align 8
  switch i64 %144, label %789 [
    i64 1, label %145
    i64 2, label %147
    i64 4, label %149
    i64 8, label %151
    i64 16, label %153
  ]

145:
  %146 = load i8, ptr %129, align 1
  store i8 %146, ptr %124, align 1
  br label %673

147:
  %148 = load i16, ptr %129, align 1
  store i16 %148, ptr %124, align 2
  br label %673

149:
  %150 = load i32, ptr %129, align 1
  store i32 %150, ptr %124, align 4
  br label %673

151:
  %152 = load i64, ptr %129, align 1
  store i64 %152, ptr %124, align 4
  br label %673

153:
  %154 = load i64, ptr %129, align 1
  store i64 %154, ptr %124, align 8
  %155 = getelementptr inbounds nuw i8, ptr %129, i64 8
  %156 = load i64, ptr %155, align 1
  %157 = getelementptr inbounds nuw i8, ptr %124, i64 8
  store i64 %156, ptr %157, align 8
  br label %673

158:
  %159 = getelementptr inbounds nuw i8, ptr %112, i64 72
  %160 = load i64, ptr %159, align 8
  %161 = getelementptr inbounds i8, ptr %114, i64 %160
  %162 = getelementptr inbounds nuw i8, ptr %112, i64 16
  %163 = load i64, ptr %162, align 8
  %164 = lshr i64 %163, 2
  %165 = call i64 @llvm.smax.i64(i64 %164, i64 1)
  br label %166

166:
  %167 = phi i64 [ 0, %158 ], [ %172, %166 ]
  %168 = getelementptr inbounds nuw double, ptr %161, i64 %167
  %169 = load double, ptr %168, align 8
  %170 = fptrunc double %169 to float
  %171 = getelementptr inbounds nuw float, ptr %124, i64 %167
  store float %170, ptr %171, align 4
  %172 = add nuw nsw i64 %167, 1
  %173 = icmp eq i64 %172, %165
  br i1 %173, label %673, label %166

174:
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %12)
  %175 = load ptr, ptr %55, align 8
  %176 = call i64 %175(ptr %114, ptr nonnull %12) #5
  %177 = load i32, ptr %12, align 4
  %178 = icmp eq i32 %177, 0
  br i1 %178, label %179, label %197

179:
  %180 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %181 = load i64, ptr %180, align 8
  %182 = icmp slt i64 %176, %181
  br i1 %182, label %197, label %183

183:
  %184 = getelementptr inbounds nuw i8, ptr %112, i64 40
  %185 = load i64, ptr %184, align 8
  %186 = icmp sgt i64 %176, %185
  br i1 %186, label %197, label %187

187:
  %188 = getelementptr inbounds nuw i8, ptr %112, i64 16
  %189 = load i64, ptr %188, align 8
  switch i64 %189, label %197 [
    i64 8, label %190
    i64 4, label %191
    i64 2, label %193
    i64 1, label %195
  ]

190:
  store i64 %176, ptr %124, align 8
  br label %197

191:
  %192 = trunc i64 %176 to i32
  store i32 %192, ptr %124, align 4
  br label %197

193:
  %194 = trunc i64 %176 to i16
  store i16 %194, ptr %124, align 2
  br label %197

195:
  %196 = trunc i64 %176 to i8
  store i8 %196, ptr %124, align 1
  br label %197

197:
  %198 = phi i1 [ true, %195 ], [ true, %193 ], [ true, %191 ], [ true, %190 ], [ false, %183 ], [ false, %179 ], [ false, %174 ], [ false, %187 ]
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %12)
  br label %671

199:
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %11)
  %200 = load ptr, ptr %51, align 8
  %201 = call i64 %200(ptr %114, ptr nonnull %11) #5
  %202 = load i32, ptr %11, align 4
  %203 = icmp eq i32 %202, 0
  br i1 %203, label %204, label %209

204:
  %205 = getelementptr inbounds nuw i8, ptr %112, i64 40
  %206 = load i64, ptr %205, align 8
  %207 = icmp eq i64 %206, 0
  br i1 %207, label %219, label %208

208:
  store i64 %201, ptr %124, align 8
  br label %219

209:
  %210 = icmp slt i32 %202, 0
  br i1 %210, label %219, label %211

211:
  %212 = load ptr, ptr %52, align 8
  %213 = call i64 %212(ptr %114) #5
  store i64 %213, ptr %124, align 8
  %214 = load ptr, ptr %53, align 8
  %215 = call ptr %214() #5
  %216 = icmp eq ptr %215, null
  br i1 %216, label %219, label %217

217:
  %218 = load ptr, ptr %54, align 8
  call void %218() #5
  br label %219

219:
  %220 = phi i1 [ false, %217 ], [ true, %208 ], [ false, %204 ], [ false, %209 ], [ true, %211 ]
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %11)
  br label %671

221:
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %10)
  %222 = load ptr, ptr %50, align 8
  %223 = call i64 %222(ptr %114, ptr nonnull %10) #5
  %224 = sitofp i64 %223 to double
  store double %224, ptr %124, align 8
  %225 = load i32, ptr %10, align 4
  %226 = icmp eq i32 %225, 0
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %10)
  br label %671

227:
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %9)
  %228 = load ptr, ptr %49, align 8
  %229 = call i64 %228(ptr %114, ptr nonnull %9) #5
  %230 = sitofp i64 %229 to double
  %231 = fptrunc double %230 to float
  store float %231, ptr %124, align 4
  %232 = load i32, ptr %9, align 4
  %233 = icmp eq i32 %232, 0
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %9)
  br label %671

234:
  %235 = load ptr, ptr %48, align 8
  %236 = icmp eq ptr %114, %235
  %237 = zext i1 %236 to i8
  store i8 %237, ptr %124, align 1
  br label %673

238:
  %239 = getelementptr inbounds nuw i8, ptr %112, i64 80
  %240 = load i64, ptr %239, align 8
  %241 = getelementptr inbounds i8, ptr %114, i64 %240
  %242 = load ptr, ptr %241, align 8
  %243 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %244 = load i64, ptr %243, align 8
  %245 = inttoptr i64 %244 to ptr
  %246 = icmp eq ptr %242, %245
  br i1 %246, label %247, label %789

247:
  %248 = getelementptr inbounds nuw i8, ptr %112, i64 72
  %249 = load i64, ptr %248, align 8
  %250 = getelementptr inbounds i8, ptr %114, i64 %249
  %251 = load ptr, ptr %250, align 8
  %252 = icmp eq ptr %251, null
  br i1 %252, label %789, label %253

253:
  %254 = getelementptr inbounds i8, ptr %251, i64 %35
  %255 = load ptr, ptr %254, align 8
  %256 = load ptr, ptr %45, align 8
  %257 = icmp eq ptr %255, %256
  br i1 %257, label %258, label %789

258:
  %259 = getelementptr inbounds i8, ptr %251, i64 %46
  %260 = load i64, ptr %259, align 8
  %261 = getelementptr inbounds nuw i8, ptr %112, i64 16
  %262 = load i64, ptr %261, align 8
  %263 = icmp eq i64 %260, %262
  br i1 %263, label %264, label %789

264:
  %265 = getelementptr inbounds i8, ptr %251, i64 %47
  br label %266

266:
  %267 = phi i64 [ 0, %264 ], [ %271, %266 ]
  %268 = getelementptr inbounds i8, ptr %265, i64 %267
  %269 = load i64, ptr %268, align 8
  %270 = getelementptr inbounds i8, ptr %124, i64 %267
  store i64 %269, ptr %270, align 8
  %271 = add i64 %267, 8
  %272 = load i64, ptr %261, align 8
  %273 = icmp slt i64 %271, %272
  br i1 %273, label %266, label %673

274:
  %275 = getelementptr inbounds nuw i8, ptr %112, i64 88
  %276 = load i64, ptr %275, align 8
  %277 = getelementptr inbounds i8, ptr %114, i64 %276
  %278 = load ptr, ptr %277, align 8
  %279 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %280 = load i64, ptr %279, align 8
  %281 = inttoptr i64 %280 to ptr
  %282 = icmp eq ptr %278, %281
  br i1 %282, label %283, label %789

283:
  %284 = getelementptr inbounds nuw i8, ptr %112, i64 80
  %285 = load i64, ptr %284, align 8
  %286 = getelementptr inbounds i8, ptr %114, i64 %285
  %287 = load i64, ptr %286, align 1
  %288 = getelementptr inbounds nuw i8, ptr %112, i64 32
  %289 = load i64, ptr %288, align 8
  %290 = and i64 %289, %287
  %291 = getelementptr inbounds nuw i8, ptr %112, i64 40
  %292 = load i64, ptr %291, align 8
  %293 = icmp eq i64 %290, %292
  br i1 %293, label %294, label %789

294:
  %295 = getelementptr inbounds nuw i8, ptr %112, i64 56
  %296 = load i32, ptr %295, align 8
  %297 = sext i32 %296 to i64
  %298 = getelementptr inbounds nuw i8, ptr %112, i64 104
  %299 = load i64, ptr %298, align 8
  %300 = getelementptr inbounds i8, ptr %114, i64 %299
  %301 = load ptr, ptr %300, align 8
  %302 = getelementptr inbounds nuw i8, ptr %112, i64 112
  %303 = load i64, ptr %302, align 8
  %304 = getelementptr inbounds i8, ptr %114, i64 %303
  %305 = load ptr, ptr %304, align 8
  %306 = getelementptr inbounds nuw i8, ptr %112, i64 60
  %307 = load i32, ptr %306, align 4
  %308 = icmp eq i32 %307, 0
  %309 = getelementptr inbounds nuw i8, ptr %112, i64 96
  %310 = load i64, ptr %309, align 8
  %311 = getelementptr inbounds i8, ptr %114, i64 %310
  br i1 %308, label %317, label %312

312:
  %313 = load i64, ptr %311, align 8
  %314 = ptrtoint ptr %301 to i64
  %315 = sub i64 %313, %314
  %316 = ashr i64 %315, 3
  br label %320

317:
  %318 = load i32, ptr %311, align 4
  %319 = sext i32 %318 to i64
  br label %320

320:
  %321 = phi i64 [ %316, %312 ], [ %319, %317 ]
  %322 = icmp eq i64 %321, %297
  br i1 %322, label %323, label %789

323:
  %324 = getelementptr inbounds nuw i8, ptr %112, i64 72
  %325 = load i64, ptr %324, align 8
  %326 = getelementptr inbounds i8, ptr %114, i64 %325
  %327 = load ptr, ptr %326, align 8
  %328 = getelementptr inbounds nuw i8, ptr %112, i64 120
  %329 = load i64, ptr %328, align 8
  %330 = icmp sgt i64 %329, -1
  br i1 %330, label %331, label %358

331:
  %332 = getelementptr inbounds nuw i8, ptr %112, i64 128
  %333 = load i64, ptr %332, align 8
  %334 = getelementptr inbounds i8, ptr %327, i64 %333
  %335 = load i32, ptr %334, align 4
  %336 = getelementptr inbounds nuw i8, ptr %112, i64 64
  %337 = load i64, ptr %336, align 8
  %338 = trunc i64 %337 to i32
  %339 = icmp eq i32 %335, %338
  br i1 %339, label %340, label %789

340:
  %341 = getelementptr inbounds nuw i8, ptr %327, i64 %329
  %342 = load ptr, ptr %341, align 8
  %343 = ptrtoint ptr %342 to i64
  %344 = icmp sgt i32 %296, 0
  br i1 %344, label %345, label %353

345:
  %346 = phi i64 [ %351, %345 ], [ 0, %340 ]
  %347 = phi i64 [ %350, %345 ], [ %343, %340 ]
  %348 = getelementptr inbounds nuw i64, ptr %305, i64 %346
  %349 = load i64, ptr %348, align 8
  %350 = or i64 %349, %347
  %351 = add nuw nsw i64 %346, 1
  %352 = icmp eq i64 %351, %297
  br i1 %352, label %353, label %345

353:
  %354 = phi i64 [ %343, %340 ], [ %350, %345 ]
  %355 = lshr i64 %337, 32
  %356 = and i64 %354, %355
  %357 = icmp eq i64 %356, 0
  br i1 %357, label %378, label %789

358:
  %359 = getelementptr inbounds nuw i8, ptr %112, i64 64
  %360 = load i64, ptr %359, align 8
  %361 = icmp eq i64 %360, 0
  br i1 %361, label %378, label %362

362:
  %363 = inttoptr i64 %360 to ptr
  %364 = load i64, ptr %363, align 8
  %365 = icmp eq i64 %364, 0
  br i1 %365, label %378, label %370

366:
  %367 = getelementptr inbounds nuw i8, ptr %372, i64 16
  %368 = load i64, ptr %367, align 8
  %369 = icmp eq i64 %368, 0
  br i1 %369, label %378, label %370

370:
  %371 = phi i64 [ %368, %366 ], [ %364, %362 ]
  %372 = phi ptr [ %367, %366 ], [ %363, %362 ]
  %373 = inttoptr i64 %371 to ptr
  %374 = load i64, ptr %373, align 8
  %375 = getelementptr inbounds nuw i8, ptr %372, i64 8
  %376 = load i64, ptr %375, align 8
  %377 = icmp eq i64 %374, %376
  br i1 %377, label %366, label %789

378:
  %379 = phi ptr [ %342, %353 ], [ %327, %358 ], [ %327, %362 ], [ %327, %366 ]
  %380 = getelementptr inbounds nuw i8, ptr %112, i64 48
  %381 = load i64, ptr %380, align 8
  %382 = getelementptr inbounds nuw i8, ptr %124, i64 8
  store i64 0, ptr %382, align 8
  store i64 0, ptr %124, align 8
  %383 = getelementptr inbounds nuw i8, ptr %124, i64 24
  store i64 %381, ptr %383, align 8
  %384 = ptrtoint ptr %379 to i64
  %385 = getelementptr inbounds nuw i8, ptr %124, i64 32
  store i64 %384, ptr %385, align 8
  %386 = getelementptr inbounds nuw i8, ptr %124, i64 40
  %387 = icmp sgt i32 %296, 0
  br i1 %387, label %388, label %404

388:
  %389 = getelementptr i64, ptr %124, i64 %297
  %390 = getelementptr i8, ptr %389, i64 40
  br label %391

391:
  %392 = phi i64 [ 0, %388 ], [ %402, %391 ]
  %393 = phi i64 [ 1, %388 ], [ %401, %391 ]
  %394 = getelementptr inbounds nuw i64, ptr %301, i64 %392
  %395 = load i64, ptr %394, align 8
  %396 = getelementptr inbounds nuw i64, ptr %386, i64 %392
  store i64 %395, ptr %396, align 8
  %397 = getelementptr inbounds nuw i64, ptr %305, i64 %392
  %398 = load i64, ptr %397, align 8
  %399 = getelementptr i64, ptr %390, i64 %392
  store i64 %398, ptr %399, align 8
  %400 = load i64, ptr %394, align 8
  %401 = mul i64 %400, %393
  %402 = add nuw nsw i64 %392, 1
  %403 = icmp eq i64 %402, %297
  br i1 %403, label %404, label %391

404:
  %405 = phi i64 [ 1, %378 ], [ %401, %391 ]
  %406 = getelementptr inbounds nuw i8, ptr %124, i64 16
  store i64 %405, ptr %406, align 8
  br label %673

407:
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %7)
  call void @llvm.lifetime.start.p0(i64 256, ptr nonnull %8)
  %408 = getelementptr inbounds nuw i8, ptr %112, i64 40
  %409 = load i64, ptr %408, align 8
  %410 = icmp eq i64 %409, 0
  br i1 %410, label %422, label %411

411:
  %412 = getelementptr inbounds nuw i8, ptr %112, i64 72
  %413 = load i64, ptr %412, align 8
  %414 = getelementptr inbounds i8, ptr %114, i64 %413
  %415 = load ptr, ptr %414, align 8
  %416 = getelementptr inbounds nuw i8, ptr %112, i64 80
  %417 = load i64, ptr %416, align 8
  %418 = getelementptr inbounds i8, ptr %415, i64 %417
  %419 = load i64, ptr %418, align 8
  %420 = and i64 %419, %409
  %421 = icmp eq i64 %420, 0
  br i1 %421, label %422, label %511

422:
  %423 = getelementptr inbounds nuw i8, ptr %112, i64 64
  %424 = load i64, ptr %423, align 8
  %425 = inttoptr i64 %424 to ptr
  %426 = call i32 %425(ptr %114, ptr nonnull %7) #5
  %427 = icmp eq i32 %426, 0
  br i1 %427, label %430, label %428

428:
  %429 = load ptr, ptr %37, align 8
  call void %429() #5
  br label %511

430:
  %431 = load i64, ptr %38, align 8
  %432 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %433 = load i64, ptr %432, align 8
  %434 = icmp eq i64 %431, %433
  br i1 %434, label %435, label %511

435:
  %436 = load i32, ptr %39, align 4
  %437 = zext i32 %436 to i64
  %438 = getelementptr inbounds nuw i8, ptr %112, i64 32
  %439 = load i64, ptr %438, align 8
  %440 = icmp eq i64 %439, %437
  br i1 %440, label %441, label %511

441:
  %442 = load i32, ptr %40, align 8
  %443 = getelementptr inbounds nuw i8, ptr %112, i64 56
  %444 = load i32, ptr %443, align 8
  %445 = icmp eq i32 %442, %444
  br i1 %445, label %446, label %511

446:
  %447 = sext i32 %444 to i64
  %448 = load ptr, ptr %41, align 8
  %449 = icmp eq ptr %448, null
  br i1 %449, label %450, label %463

450:
  %451 = icmp sgt i32 %444, 0
  br i1 %451, label %452, label %463

452:
  %453 = load ptr, ptr %42, align 8
  br label %454

454:
  %455 = phi i64 [ 1, %452 ], [ %461, %454 ]
  %456 = phi i64 [ %447, %452 ], [ %457, %454 ]
  %457 = add nsw i64 %456, -1
  %458 = getelementptr inbounds nuw [32 x i64], ptr %8, i64 0, i64 %457
  store i64 %455, ptr %458, align 8
  %459 = getelementptr inbounds nuw i64, ptr %453, i64 %457
  %460 = load i64, ptr %459, align 8
  %461 = mul i64 %460, %455
  %462 = icmp sgt i64 %456, 1
  br i1 %462, label %454, label %463

463:
  %464 = phi ptr [ %448, %446 ], [ %8, %450 ], [ %8, %454 ]
  %465 = load ptr, ptr %7, align 8
  %466 = load i64, ptr %43, align 8
  %467 = getelementptr inbounds i8, ptr %465, i64 %466
  %468 = getelementptr inbounds nuw i8, ptr %112, i64 48
  %469 = load i64, ptr %468, align 8
  %470 = load ptr, ptr %44, align 8
  %471 = getelementptr inbounds nuw i8, ptr %124, i64 8
  store i64 0, ptr %471, align 8
  store i64 0, ptr %124, align 8
  %472 = getelementptr inbounds nuw i8, ptr %124, i64 24
  store i64 %469, ptr %472, align 8
  %473 = ptrtoint ptr %467 to i64
  %474 = getelementptr inbounds nuw i8, ptr %124, i64 32
  store i64 %473, ptr %474, align 8
  %475 = getelementptr inbounds nuw i8, ptr %124, i64 40
  %476 = icmp sgt i32 %444, 0
  br i1 %476, label %477, label %494

477:
  %478 = getelementptr i64, ptr %124, i64 %447
  %479 = getelementptr i8, ptr %478, i64 40
  br label %480

480:
  %481 = phi i64 [ 0, %477 ], [ %492, %480 ]
  %482 = phi i64 [ 1, %477 ], [ %491, %480 ]
  %483 = getelementptr inbounds nuw i64, ptr %470, i64 %481
  %484 = load i64, ptr %483, align 8
  %485 = getelementptr inbounds nuw i64, ptr %475, i64 %481
  store i64 %484, ptr %485, align 8
  %486 = getelementptr inbounds nuw i64, ptr %464, i64 %481
  %487 = load i64, ptr %486, align 8
  %488 = mul i64 %487, %469
  %489 = getelementptr i64, ptr %479, i64 %481
  store i64 %488, ptr %489, align 8
  %490 = load i64, ptr %483, align 8
  %491 = mul i64 %490, %482
  %492 = add nuw nsw i64 %481, 1
  %493 = icmp eq i64 %492, %447
  br i1 %493, label %494, label %480

494:
  %495 = phi i64 [ 1, %463 ], [ %491, %480 ]
  %496 = getelementptr inbounds nuw i8, ptr %124, i64 16
  store i64 %495, ptr %496, align 8
  %497 = getelementptr inbounds nuw i8, ptr %112, i64 60
  %498 = load i32, ptr %497, align 4
  %499 = icmp eq i32 %498, 3
  br i1 %499, label %511, label %500

500:
  %501 = call fastcc zeroext i1 @is_dense(ptr %470, ptr %464, i64 %447, i1 zeroext true) #6
  %502 = icmp eq i64 %495, 0
  %503 = select i1 %501, i1 true, i1 %502
  %504 = icmp eq i32 %498, 0
  %505 = or i1 %503, %504
  %506 = and i1 %503, %504
  br i1 %505, label %511, label %507

507:
  %508 = call fastcc zeroext i1 @is_dense(ptr %470, ptr %464, i64 %447, i1 zeroext false) #6
  %509 = select i1 %508, i32 1, i32 2
  %510 = icmp eq i32 %498, %509
  br label %511

511:
  %512 = phi i1 [ false, %428 ], [ %510, %507 ], [ false, %411 ], [ false, %441 ], [ false, %435 ], [ false, %430 ], [ true, %494 ], [ %506, %500 ]
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %7)
  call void @llvm.lifetime.end.p0(i64 256, ptr nonnull %8)
  br label %671

513:
  store i64 0, ptr %124, align 8
  %514 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %515 = load i64, ptr %514, align 8
  %516 = inttoptr i64 %515 to ptr
  %517 = icmp eq ptr %114, %516
  br label %671

518:
  %519 = getelementptr inbounds nuw i8, ptr %112, i64 128
  %520 = load i64, ptr %519, align 8
  %521 = getelementptr inbounds i8, ptr %114, i64 %520
  %522 = load ptr, ptr %521, align 8
  %523 = getelementptr inbounds nuw i8, ptr %112, i64 136
  %524 = load i64, ptr %523, align 8
  %525 = getelementptr inbounds i8, ptr %114, i64 %524
  %526 = load ptr, ptr %525, align 8
  %527 = load ptr, ptr %36, align 8
  %528 = icmp eq ptr %526, %527
  %529 = icmp ne ptr %522, null
  %530 = select i1 %528, i1 %529, i1 false
  br i1 %530, label %531, label %789

531:
  %532 = getelementptr inbounds i8, ptr %522, i64 %35
  %533 = load ptr, ptr %532, align 8
  %534 = getelementptr inbounds nuw i8, ptr %112, i64 144
  %535 = load i64, ptr %534, align 8
  %536 = inttoptr i64 %535 to ptr
  %537 = icmp eq ptr %533, %536
  br i1 %537, label %538, label %789

538:
  %539 = getelementptr inbounds nuw i8, ptr %112, i64 88
  %540 = load i64, ptr %539, align 8
  %541 = getelementptr inbounds i8, ptr %522, i64 %540
  %542 = load ptr, ptr %541, align 8
  %543 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %544 = load i64, ptr %543, align 8
  %545 = inttoptr i64 %544 to ptr
  %546 = icmp eq ptr %542, %545
  br i1 %546, label %547, label %669

547:
  %548 = getelementptr inbounds nuw i8, ptr %112, i64 80
  %549 = load i64, ptr %548, align 8
  %550 = getelementptr inbounds i8, ptr %522, i64 %549
  %551 = load i64, ptr %550, align 1
  %552 = getelementptr inbounds nuw i8, ptr %112, i64 32
  %553 = load i64, ptr %552, align 8
  %554 = and i64 %553, %551
  %555 = getelementptr inbounds nuw i8, ptr %112, i64 40
  %556 = load i64, ptr %555, align 8
  %557 = icmp eq i64 %554, %556
  br i1 %557, label %558, label %669

558:
  %559 = getelementptr inbounds nuw i8, ptr %112, i64 56
  %560 = load i32, ptr %559, align 8
  %561 = sext i32 %560 to i64
  %562 = getelementptr inbounds nuw i8, ptr %112, i64 104
  %563 = load i64, ptr %562, align 8
  %564 = getelementptr inbounds i8, ptr %522, i64 %563
  %565 = load ptr, ptr %564, align 8
  %566 = getelementptr inbounds nuw i8, ptr %112, i64 112
  %567 = load i64, ptr %566, align 8
  %568 = getelementptr inbounds i8, ptr %522, i64 %567
  %569 = load ptr, ptr %568, align 8
  %570 = getelementptr inbounds nuw i8, ptr %112, i64 60
  %571 = load i32, ptr %570, align 4
  %572 = icmp eq i32 %571, 0
  %573 = getelementptr inbounds nuw i8, ptr %112, i64 96
  %574 = load i64, ptr %573, align 8
  %575 = getelementptr inbounds i8, ptr %522, i64 %574
  br i1 %572, label %581, label %576

576:
  %577 = load i64, ptr %575, align 8
  %578 = ptrtoint ptr %565 to i64
  %579 = sub i64 %577, %578
  %580 = ashr i64 %579, 3
  br label %584

581:
  %582 = load i32, ptr %575, align 4
  %583 = sext i32 %582 to i64
  br label %584

584:
  %585 = phi i64 [ %580, %576 ], [ %583, %581 ]
  %586 = icmp eq i64 %585, %561
  br i1 %586, label %587, label %669

587:
  %588 = getelementptr inbounds nuw i8, ptr %112, i64 72
  %589 = load i64, ptr %588, align 8
  %590 = getelementptr inbounds i8, ptr %522, i64 %589
  %591 = load ptr, ptr %590, align 8
  %592 = getelementptr inbounds nuw i8, ptr %112, i64 120
  %593 = load i64, ptr %592, align 8
  %594 = icmp sgt i64 %593, -1
  br i1 %594, label %595, label %620

595:
  %596 = getelementptr inbounds i8, ptr %591, i64 %520
  %597 = load i32, ptr %596, align 4
  %598 = getelementptr inbounds nuw i8, ptr %112, i64 64
  %599 = load i64, ptr %598, align 8
  %600 = trunc i64 %599 to i32
  %601 = icmp eq i32 %597, %600
  br i1 %601, label %602, label %669

602:
  %603 = getelementptr inbounds nuw i8, ptr %591, i64 %593
  %604 = load ptr, ptr %603, align 8
  %605 = ptrtoint ptr %604 to i64
  %606 = icmp sgt i32 %560, 0
  br i1 %606, label %607, label %615

607:
  %608 = phi i64 [ %613, %607 ], [ 0, %602 ]
  %609 = phi i64 [ %612, %607 ], [ %605, %602 ]
  %610 = getelementptr inbounds nuw i64, ptr %569, i64 %608
  %611 = load i64, ptr %610, align 8
  %612 = or i64 %611, %609
  %613 = add nuw nsw i64 %608, 1
  %614 = icmp eq i64 %613, %561
  br i1 %614, label %615, label %607

615:
  %616 = phi i64 [ %605, %602 ], [ %612, %607 ]
  %617 = lshr i64 %599, 32
  %618 = and i64 %616, %617
  %619 = icmp eq i64 %618, 0
  br i1 %619, label %640, label %669

620:
  %621 = getelementptr inbounds nuw i8, ptr %112, i64 64
  %622 = load i64, ptr %621, align 8
  %623 = icmp eq i64 %622, 0
  br i1 %623, label %640, label %624

624:
  %625 = inttoptr i64 %622 to ptr
  %626 = load i64, ptr %625, align 8
  %627 = icmp eq i64 %626, 0
  br i1 %627, label %640, label %632

628:
  %629 = getelementptr inbounds nuw i8, ptr %634, i64 16
  %630 = load i64, ptr %629, align 8
  %631 = icmp eq i64 %630, 0
  br i1 %631, label %640, label %632

632:
  %633 = phi i64 [ %630, %628 ], [ %626, %624 ]
  %634 = phi ptr [ %629, %628 ], [ %625, %624 ]
  %635 = inttoptr i64 %633 to ptr
  %636 = load i64, ptr %635, align 8
  %637 = getelementptr inbounds nuw i8, ptr %634, i64 8
  %638 = load i64, ptr %637, align 8
  %639 = icmp eq i64 %636, %638
  br i1 %639, label %628, label %669

640:
  %641 = phi ptr [ %604, %615 ], [ %591, %620 ], [ %591, %624 ], [ %591, %628 ]
  %642 = getelementptr inbounds nuw i8, ptr %112, i64 48
  %643 = load i64, ptr %642, align 8
  %644 = getelementptr inbounds nuw i8, ptr %124, i64 8
  store i64 0, ptr %644, align 8
  store i64 0, ptr %124, align 8
  %645 = getelementptr inbounds nuw i8, ptr %124, i64 24
  store i64 %643, ptr %645, align 8
  %646 = ptrtoint ptr %641 to i64
  %647 = getelementptr inbounds nuw i8, ptr %124, i64 32
  store i64 %646, ptr %647, align 8
  %648 = getelementptr inbounds nuw i8, ptr %124, i64 40
  %649 = icmp sgt i32 %560, 0
  br i1 %649, label %650, label %666

650:
  %651 = getelementptr i64, ptr %124, i64 %561
  %652 = getelementptr i8, ptr %651, i64 40
  br label %653

653:
  %654 = phi i64 [ 0, %650 ], [ %664, %653 ]
  %655 = phi i64 [ 1, %650 ], [ %663, %653 ]
  %656 = getelementptr inbounds nuw i64, ptr %565, i64 %654
  %657 = load i64, ptr %656, align 8
  %658 = getelementptr inbounds nuw i64, ptr %648, i64 %654
  store i64 %657, ptr %658, align 8
  %659 = getelementptr inbounds nuw i64, ptr %569, i64 %654
  %660 = load i64, ptr %659, align 8
  %661 = getelementptr i64, ptr %652, i64 %654
  store i64 %660, ptr %661, align 8
  %662 = load i64, ptr %656, align 8
  %663 = mul i64 %662, %655
  %664 = add nuw nsw i64 %654, 1
  %665 = icmp eq i64 %664, %561
  br i1 %665, label %666, label %653

666:
  %667 = phi i64 [ 1, %640 ], [ %663, %653 ]
  %668 = getelementptr inbounds nuw i8, ptr %124, i64 16
  store i64 %667, ptr %668, align 8
  br label %669

669:
  %670 = phi i1 [ true, %666 ], [ false, %538 ], [ false, %547 ], [ false, %584 ], [ false, %595 ], [ false, %615 ], [ false, %632 ]
  store ptr %522, ptr %124, align 8
  br label %671

671:
  %672 = phi i1 [ %517, %513 ], [ %512, %511 ], [ %233, %227 ], [ %226, %221 ], [ %220, %219 ], [ %198, %197 ], [ %670, %669 ]
  br i1 %672, label %673, label %789

673:
  %674 = add nuw nsw i64 %111, 1
  %675 = icmp eq i64 %674, %19
  br i1 %675, label %676, label %110

676:
  %677 = getelementptr inbounds nuw i8, ptr %57, i64 12
  %678 = load i32, ptr %677, align 4
  %679 = and i32 %678, 28
  switch i32 %679, label %729 [
    i32 0, label %680
    i32 8, label %725
    i32 16, label %727
  ]

680:
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %6)
  %681 = getelementptr inbounds nuw i8, ptr %57, i64 16
  %682 = load i64, ptr %681, align 8
  %683 = getelementptr inbounds nuw i8, ptr %6, i64 40
  store i64 %682, ptr %683, align 8
  store ptr inttoptr (i64 1 to ptr), ptr %6, align 8
  %684 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store ptr %14, ptr %684, align 8
  %685 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr inttoptr (i64 2 to ptr), ptr %685, align 8
  %686 = getelementptr inbounds nuw i8, ptr %6, i64 24
  store ptr %683, ptr %686, align 8
  %687 = getelementptr inbounds nuw i8, ptr %6, i64 32
  store ptr null, ptr %687, align 8
  %688 = load i64, ptr %681, align 8
  %689 = icmp eq i64 %688, 0
  %690 = select i1 %689, ptr null, ptr %6
  %691 = getelementptr inbounds nuw i8, ptr %57, i64 24
  %692 = load ptr, ptr %691, align 8
  %693 = getelementptr inbounds nuw i8, ptr %57, i64 32
  %694 = load ptr, ptr %693, align 8
  %695 = getelementptr inbounds nuw i8, ptr %57, i64 40
  %696 = load ptr, ptr %695, align 8
  %697 = getelementptr inbounds nuw i8, ptr %57, i64 112
  %698 = load i32, ptr %697, align 8
  %699 = getelementptr inbounds nuw i8, ptr %57, i64 116
  %700 = load i32, ptr %699, align 4
  %701 = getelementptr inbounds nuw i8, ptr %57, i64 120
  %702 = load i32, ptr %701, align 8
  %703 = getelementptr inbounds nuw i8, ptr %57, i64 124
  %704 = load i32, ptr %703, align 4
  %705 = getelementptr inbounds nuw i8, ptr %57, i64 128
  %706 = load i32, ptr %705, align 8
  %707 = getelementptr inbounds nuw i8, ptr %57, i64 132
  %708 = load i32, ptr %707, align 4
  %709 = getelementptr inbounds nuw i8, ptr %57, i64 136
  %710 = load i32, ptr %709, align 8
  %711 = load i32, ptr %677, align 4
  %712 = and i32 %711, 1
  %713 = icmp eq i32 %712, 0
  br i1 %713, label %716, label %714

714:
  %715 = call i32 %692(ptr %694, i32 %698, i32 %700, i32 %702, i32 %704, i32 %706, i32 %708, i32 %710, ptr %696, ptr null, ptr %690) #5
  br label %723

716:
  %717 = getelementptr inbounds nuw i8, ptr %18, i64 96
  %718 = load ptr, ptr %717, align 8
  %719 = call ptr %718() #5
  %720 = call i32 %692(ptr %694, i32 %698, i32 %700, i32 %702, i32 %704, i32 %706, i32 %708, i32 %710, ptr %696, ptr null, ptr %690) #5
  %721 = getelementptr inbounds nuw i8, ptr %18, i64 104
  %722 = load ptr, ptr %721, align 8
  call void %722(ptr %719) #5
  br label %723

723:
  %724 = phi i32 [ %715, %714 ], [ %720, %716 ]
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %6)
  br label %764

725:
  %726 = call fastcc i32 @launch_staged(ptr %18, ptr nonnull %57, ptr nonnull %14) #6
  br label %764

727:
  %728 = call fastcc ptr @describe(ptr %18, ptr nonnull %57, ptr nonnull %14) #6
  br label %796

729:
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %5)
  %730 = getelementptr inbounds nuw i8, ptr %57, i64 24
  %731 = load ptr, ptr %730, align 8
  %732 = getelementptr inbounds nuw i8, ptr %57, i64 32
  %733 = load ptr, ptr %732, align 8
  %734 = getelementptr inbounds nuw i8, ptr %57, i64 112
  %735 = load i32, ptr %677, align 4
  %736 = and i32 %735, 1
  %737 = call i32 %731(ptr %733, ptr nonnull %734, ptr nonnull %14, i32 %736, ptr nonnull %5) #5
  switch i32 %737, label %751 [
    i32 0, label %738
    i32 -1000, label %762
  ]

738:
  %739 = load i64, ptr %18, align 8
  %740 = add i64 %739, 1
  store i64 %740, ptr %18, align 8
  %741 = getelementptr inbounds nuw i8, ptr %57, i64 96
  store i64 %740, ptr %741, align 8
  %742 = getelementptr inbounds nuw i8, ptr %18, i64 120
  %743 = load ptr, ptr %742, align 8
  %744 = load i64, ptr @COUNTS_NONE, align 8
  %745 = icmp eq i64 %744, 0
  br i1 %745, label %762, label %746

746:
  %747 = load i64, ptr @REFERENCES, align 8
  %748 = getelementptr inbounds i8, ptr %743, i64 %747
  %749 = load i64, ptr %748, align 8
  %750 = add i64 %749, 1
  store i64 %750, ptr %748, align 8
  br label %762

751:
  %752 = load ptr, ptr %732, align 8
  %753 = getelementptr inbounds nuw i8, ptr %5, i64 32
  store ptr %752, ptr %753, align 8
  %754 = getelementptr inbounds nuw i8, ptr %18, i64 112
  %755 = load ptr, ptr %754, align 8
  %756 = call ptr %755(ptr nonnull %5, i64 40) #5
  %757 = icmp eq ptr %756, null
  br i1 %757, label %762, label %758

758:
  %759 = getelementptr inbounds nuw i8, ptr %16, i64 16
  %760 = load ptr, ptr %759, align 8
  %761 = call fastcc ptr @call_python(ptr %18, ptr %760, ptr nonnull %756, ptr %1, i64 %19) #6
  br label %762

762:
  %763 = phi ptr [ null, %729 ], [ %761, %758 ], [ null, %751 ], [ %743, %738 ], [ %743, %746 ]
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %5)
  br label %796

764:
  %765 = phi i32 [ %726, %725 ], [ %724, %723 ]
  %766 = icmp eq i32 %765, 0
  br i1 %766, label %775, label %767

767:
  %768 = getelementptr inbounds nuw i8, ptr %18, i64 24
  %769 = load ptr, ptr %768, align 8
  %770 = sext i32 %765 to i64
  %771 = call ptr %769(i64 %770) #5
  %772 = getelementptr inbounds nuw i8, ptr %16, i64 16
  %773 = load ptr, ptr %772, align 8
  %774 = call fastcc ptr @call_python(ptr %18, ptr %773, ptr %771, ptr %1, i64 %19) #6
  br label %796

775:
  %776 = load i64, ptr %18, align 8
  %777 = add i64 %776, 1
  store i64 %777, ptr %18, align 8
  %778 = getelementptr inbounds nuw i8, ptr %57, i64 96
  store i64 %777, ptr %778, align 8
  %779 = getelementptr inbounds nuw i8, ptr %18, i64 120
  %780 = load ptr, ptr %779, align 8
  %781 = load i64, ptr @COUNTS_NONE, align 8
  %782 = icmp eq i64 %781, 0
  br i1 %782, label %796, label %783

783:
  %784 = load i64, ptr @REFERENCES, align 8
  %785 = getelementptr inbounds i8, ptr %780, i64 %784
  %786 = load i64, ptr %785, align 8
  %787 = add i64 %786, 1
  store i64 %787, ptr %785, align 8
  br label %796

788:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %13)
  br label %789

789:
  %790 = load ptr, ptr %57, align 8
  %791 = icmp eq ptr %790, null
  br i1 %791, label %792, label %56

792:
  %793 = getelementptr inbounds nuw i8, ptr %16, i64 8
  %794 = load ptr, ptr %793, align 8
  %795 = call fastcc ptr @call_python(ptr %18, ptr %794, ptr null, ptr %1, i64 %19) #6
  br label %796

796:
  %797 = phi ptr [ %27, %21 ], [ %795, %792 ], [ %763, %762 ], [ %728, %727 ], [ %774, %767 ], [ %780, %775 ], [ %780, %783 ]
  ret ptr %797
}

define internal fastcc ptr @call_python(ptr nocapture readonly %0, ptr %1, ptr %2, ptr nocapture readonly %3, i64 %4) unnamed_addr #1 {
  %6 = icmp ne ptr %2, null
  %7 = zext i1 %6 to i64
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %9 = load ptr, ptr %8, align 8
  %10 = add i64 %4, %7
  %11 = tail call ptr %9(i64 %10) #5
  %12 = icmp eq ptr %11, null
  br i1 %12, label %13, label %14

13:
  br i1 %6, label %39, label %44

14:
  br i1 %6, label %15, label %19

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %17 = load ptr, ptr %16, align 8
  %18 = tail call i32 %17(ptr nonnull %11, i64 0, ptr nonnull %2) #5
  br label %19

19:
  %20 = icmp sgt i64 %4, 0
  br i1 %20, label %21, label %35

21:
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 56
  br label %24

24:
  %25 = phi i64 [ 0, %21 ], [ %33, %24 ]
  %26 = load ptr, ptr %22, align 8
  %27 = getelementptr inbounds nuw ptr, ptr %3, i64 %25
  %28 = load ptr, ptr %27, align 8
  tail call void %26(ptr %28) #5
  %29 = load ptr, ptr %23, align 8
  %30 = add nuw nsw i64 %25, %7
  %31 = load ptr, ptr %27, align 8
  %32 = tail call i32 %29(ptr nonnull %11, i64 %30, ptr %31) #5
  %33 = add nuw nsw i64 %25, 1
  %34 = icmp eq i64 %33, %4
  br i1 %34, label %35, label %24

35:
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %37 = load ptr, ptr %36, align 8
  %38 = tail call ptr %37(ptr %1, ptr nonnull %11, ptr null) #5
  br label %39

39:
  %40 = phi ptr [ %11, %35 ], [ %2, %13 ]
  %41 = phi ptr [ %38, %35 ], [ null, %13 ]
  %42 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %43 = load ptr, ptr %42, align 8
  tail call void %43(ptr nonnull %40) #5
  br label %44

44:
  %45 = phi ptr [ null, %13 ], [ %41, %39 ]
  ret ptr %45
}

define internal fastcc zeroext i1 @is_dense(ptr nocapture readonly %0, ptr nocapture nonnull readonly %1, i64 %2, i1 zeroext %3) unnamed_addr #2 {
  %5 = icmp slt i64 %2, 1
  br i1 %5, label %23, label %6

6:
  %7 = phi i64 [ %21, %19 ], [ 0, %4 ]
  %8 = phi i64 [ %20, %19 ], [ 1, %4 ]
  %9 = xor i64 %7, -1
  %10 = add nsw i64 %2, %9
  %11 = select i1 %3, i64 %10, i64 %7
  %12 = getelementptr inbounds i64, ptr %0, i64 %11
  %13 = load i64, ptr %12, align 8
  %14 = icmp eq i64 %13, 1
  br i1 %14, label %19, label %15

15:
  %16 = getelementptr inbounds i64, ptr %1, i64 %11
  %17 = load i64, ptr %16, align 8
  %18 = icmp eq i64 %17, %8
  br i1 %18, label %19, label %23

19:
  %20 = mul i64 %13, %8
  %21 = add nuw nsw i64 %7, 1
  %22 = icmp eq i64 %21, %2
  br i1 %22, label %23, label %6

23:
  %24 = phi i1 [ true, %4 ], [ false, %15 ], [ true, %19 ]
  ret i1 %24
}

define internal fastcc i32 @launch_staged(ptr nocapture readonly %0, ptr nocapture nonnull readonly %1, ptr nonnull %2) unnamed_addr #1 {
  %4 = alloca %struct.Packed, align 8
  %5 = alloca %struct.Arrays, align 8
  %6 = alloca i32, align 4
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 104
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 40
  %11 = load i64, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %13 = getelementptr inbounds nuw i8, ptr %5, i64 128
  %14 = getelementptr inbounds nuw i8, ptr %5, i64 64
  %15 = getelementptr inbounds nuw i8, ptr %8, i64 8
  br label %16

16:
  %17 = phi i64 [ 0, %3 ], [ %57, %56 ]
  %18 = phi i64 [ 0, %3 ], [ %37, %56 ]
  %19 = getelementptr inbounds nuw i64, ptr %12, i64 %17
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr inbounds i8, ptr %2, i64 %20
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds nuw [8 x ptr], ptr %13, i64 0, i64 %17
  store ptr %22, ptr %23, align 8
  store ptr null, ptr %21, align 8
  %24 = getelementptr inbounds nuw i8, ptr %21, i64 32
  %25 = load ptr, ptr %24, align 8
  %26 = getelementptr inbounds nuw [8 x ptr], ptr %14, i64 0, i64 %17
  store ptr %25, ptr %26, align 8
  %27 = getelementptr inbounds nuw i8, ptr %21, i64 16
  %28 = load i64, ptr %27, align 8
  %29 = getelementptr inbounds nuw i8, ptr %21, i64 24
  %30 = load i64, ptr %29, align 8
  %31 = mul i64 %30, %28
  %32 = getelementptr inbounds nuw [8 x i64], ptr %5, i64 0, i64 %17
  store i64 %31, ptr %32, align 8
  %33 = icmp ugt i64 %31, %11
  br i1 %33, label %269, label %34

34:
  %35 = add i64 %31, 255
  %36 = and i64 %35, -256
  %37 = add i64 %36, %18
  %38 = icmp eq i64 %17, 0
  br i1 %38, label %54, label %39

39:
  %40 = getelementptr inbounds i8, ptr %25, i64 %31
  br label %41

41:
  %42 = phi i64 [ 0, %39 ], [ %52, %51 ]
  %43 = getelementptr inbounds nuw [8 x ptr], ptr %14, i64 0, i64 %42
  %44 = load ptr, ptr %43, align 8
  %45 = icmp ult ptr %44, %40
  br i1 %45, label %46, label %51

46:
  %47 = getelementptr inbounds nuw [8 x i64], ptr %5, i64 0, i64 %42
  %48 = load i64, ptr %47, align 8
  %49 = getelementptr inbounds i8, ptr %44, i64 %48
  %50 = icmp ult ptr %25, %49
  br i1 %50, label %269, label %51

51:
  %52 = add nuw nsw i64 %42, 1
  %53 = icmp eq i64 %52, %17
  br i1 %53, label %54, label %41

54:
  %55 = icmp ugt i64 %37, %11
  br i1 %55, label %269, label %56

56:
  %57 = add nuw nsw i64 %17, 1
  %58 = load i64, ptr %15, align 8
  %59 = icmp slt i64 %57, %58
  br i1 %59, label %16, label %60

60:
  %61 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %62 = getelementptr inbounds nuw i8, ptr %8, i64 8
  br label %63

63:
  %64 = phi i64 [ %71, %70 ], [ 0, %60 ]
  %65 = getelementptr inbounds nuw [8 x ptr], ptr %13, i64 0, i64 %64
  %66 = load ptr, ptr %65, align 8
  %67 = icmp eq ptr %66, null
  br i1 %67, label %70, label %68

68:
  %69 = load ptr, ptr %61, align 8
  tail call void %69(ptr nonnull %66) #5
  br label %70

70:
  %71 = add nuw nsw i64 %64, 1
  %72 = load i64, ptr %62, align 8
  %73 = icmp slt i64 %71, %72
  br i1 %73, label %63, label %74

74:
  %75 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %76 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %77 = load ptr, ptr %76, align 8
  %78 = tail call ptr %77() #5
  %79 = load ptr, ptr %8, align 8
  %80 = getelementptr inbounds nuw i8, ptr %79, i64 24
  %81 = load ptr, ptr %80, align 8
  %82 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %83 = load ptr, ptr %82, align 8
  %84 = call i32 %81(ptr %83, ptr nonnull %6) #5
  %85 = icmp ne i32 %84, 0
  %86 = load i32, ptr %6, align 4
  %87 = icmp ne i32 %86, 0
  %88 = select i1 %85, i1 true, i1 %87
  br i1 %88, label %253, label %89

89:
  %90 = load ptr, ptr %8, align 8
  %91 = getelementptr inbounds nuw i8, ptr %90, i64 48
  %92 = load i64, ptr %91, align 8
  %93 = icmp sgt i64 %92, 0
  br i1 %93, label %94, label %105

94:
  %95 = getelementptr inbounds nuw i8, ptr %90, i64 56
  br label %100

96:
  %97 = add nuw nsw i64 %101, 1
  %98 = load i64, ptr %91, align 8
  %99 = icmp slt i64 %97, %98
  br i1 %99, label %100, label %105

100:
  %101 = phi i64 [ 0, %94 ], [ %97, %96 ]
  %102 = getelementptr inbounds nuw [8 x %struct.Room], ptr %95, i64 0, i64 %101
  %103 = cmpxchg ptr %102, i64 0, i64 1 acq_rel monotonic, align 8
  %104 = extractvalue { i64, i1 } %103, 1
  br i1 %104, label %105, label %96

105:
  %106 = phi ptr [ null, %89 ], [ %102, %100 ], [ null, %96 ]
  %107 = icmp eq ptr %106, null
  br i1 %107, label %253, label %108

108:
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %4)
  %109 = load ptr, ptr %7, align 8
  %110 = load ptr, ptr %109, align 8
  %111 = getelementptr inbounds nuw i8, ptr %106, i64 16
  %112 = getelementptr inbounds nuw i8, ptr %109, i64 32
  %113 = getelementptr i8, ptr %2, i64 32
  %114 = getelementptr inbounds nuw i8, ptr %109, i64 24
  %115 = getelementptr inbounds nuw i8, ptr %109, i64 16
  %116 = getelementptr inbounds nuw i8, ptr %110, i64 32
  %117 = getelementptr inbounds nuw i8, ptr %106, i64 8
  %118 = getelementptr inbounds nuw i8, ptr %109, i64 8
  br label %119

119:
  %120 = phi i64 [ 0, %108 ], [ %136, %146 ]
  %121 = phi i64 [ 0, %108 ], [ %148, %146 ]
  %122 = phi i64 [ 0, %108 ], [ %147, %146 ]
  %123 = phi i64 [ 0, %108 ], [ %133, %146 ]
  %124 = load ptr, ptr %111, align 8
  %125 = getelementptr inbounds i8, ptr %124, i64 %123
  %126 = getelementptr inbounds nuw i64, ptr %112, i64 %121
  %127 = load i64, ptr %126, align 8
  %128 = getelementptr i8, ptr %113, i64 %127
  store ptr %125, ptr %128, align 8
  %129 = getelementptr inbounds nuw [8 x i64], ptr %5, i64 0, i64 %121
  %130 = load i64, ptr %129, align 8
  %131 = add i64 %130, 255
  %132 = and i64 %131, -256
  %133 = add i64 %132, %123
  %134 = load i64, ptr %114, align 8
  %135 = icmp slt i64 %121, %134
  %136 = select i1 %135, i64 %133, i64 %120
  %137 = load i64, ptr %115, align 8
  %138 = icmp slt i64 %121, %137
  br i1 %138, label %139, label %146

139:
  %140 = load ptr, ptr %116, align 8
  %141 = load ptr, ptr %117, align 8
  %142 = getelementptr inbounds i8, ptr %141, i64 %123
  %143 = getelementptr inbounds nuw [8 x ptr], ptr %14, i64 0, i64 %121
  %144 = load ptr, ptr %143, align 8
  %145 = call ptr %140(ptr %142, ptr %144, i64 %130) #5
  br label %146

146:
  %147 = phi i64 [ %133, %139 ], [ %122, %119 ]
  %148 = add nuw nsw i64 %121, 1
  %149 = load i64, ptr %118, align 8
  %150 = icmp slt i64 %148, %149
  br i1 %150, label %119, label %151

151:
  %152 = getelementptr inbounds nuw i8, ptr %106, i64 16
  %153 = getelementptr inbounds nuw i8, ptr %109, i64 24
  %154 = getelementptr inbounds nuw i8, ptr %109, i64 8
  %155 = icmp eq i64 %147, 0
  br i1 %155, label %164, label %156

156:
  %157 = load ptr, ptr %110, align 8
  %158 = load ptr, ptr %152, align 8
  %159 = getelementptr inbounds nuw i8, ptr %106, i64 8
  %160 = load ptr, ptr %159, align 8
  %161 = load ptr, ptr %82, align 8
  %162 = call i32 %157(ptr %158, ptr %160, i64 %147, ptr %161) #5
  %163 = icmp eq i32 %162, 0
  br i1 %163, label %164, label %193

164:
  %165 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %166 = load ptr, ptr %165, align 8
  %167 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %168 = load ptr, ptr %167, align 8
  %169 = getelementptr inbounds nuw i8, ptr %1, i64 112
  %170 = load i32, ptr %169, align 8
  %171 = getelementptr inbounds nuw i8, ptr %1, i64 116
  %172 = load i32, ptr %171, align 4
  %173 = getelementptr inbounds nuw i8, ptr %1, i64 120
  %174 = load i32, ptr %173, align 8
  %175 = getelementptr inbounds nuw i8, ptr %1, i64 124
  %176 = load i32, ptr %175, align 4
  %177 = getelementptr inbounds nuw i8, ptr %1, i64 128
  %178 = load i32, ptr %177, align 8
  %179 = getelementptr inbounds nuw i8, ptr %1, i64 132
  %180 = load i32, ptr %179, align 4
  %181 = getelementptr inbounds nuw i8, ptr %1, i64 136
  %182 = load i32, ptr %181, align 8
  %183 = load ptr, ptr %82, align 8
  %184 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %185 = load i64, ptr %184, align 8
  %186 = getelementptr inbounds nuw i8, ptr %4, i64 40
  store i64 %185, ptr %186, align 8
  store ptr inttoptr (i64 1 to ptr), ptr %4, align 8
  %187 = getelementptr inbounds nuw i8, ptr %4, i64 8
  store ptr %2, ptr %187, align 8
  %188 = getelementptr inbounds nuw i8, ptr %4, i64 16
  store ptr inttoptr (i64 2 to ptr), ptr %188, align 8
  %189 = getelementptr inbounds nuw i8, ptr %4, i64 24
  store ptr %186, ptr %189, align 8
  %190 = getelementptr inbounds nuw i8, ptr %4, i64 32
  store ptr null, ptr %190, align 8
  %191 = call i32 %166(ptr %168, i32 %170, i32 %172, i32 %174, i32 %176, i32 %178, i32 %180, i32 %182, ptr %183, ptr null, ptr nonnull %4) #5
  %192 = icmp eq i32 %191, 0
  br i1 %192, label %200, label %193

193:
  %194 = getelementptr inbounds nuw i8, ptr %110, i64 16
  %195 = load ptr, ptr %194, align 8
  %196 = load ptr, ptr %82, align 8
  %197 = call i32 %195(ptr %196) #5
  %198 = icmp eq i32 %197, 0
  br i1 %198, label %199, label %251

199:
  store atomic i64 0, ptr %106 release, align 8
  br label %251

200:
  %201 = icmp eq i64 %133, %136
  br i1 %201, label %213, label %202

202:
  %203 = getelementptr inbounds nuw i8, ptr %110, i64 8
  %204 = load ptr, ptr %203, align 8
  %205 = getelementptr inbounds nuw i8, ptr %106, i64 8
  %206 = load ptr, ptr %205, align 8
  %207 = getelementptr inbounds i8, ptr %206, i64 %136
  %208 = load ptr, ptr %152, align 8
  %209 = getelementptr inbounds i8, ptr %208, i64 %136
  %210 = sub i64 %133, %136
  %211 = load ptr, ptr %82, align 8
  %212 = call i32 %204(ptr %207, ptr %209, i64 %210, ptr %211) #5
  br label %213

213:
  %214 = phi i32 [ %212, %202 ], [ 0, %200 ]
  %215 = icmp eq i32 %214, 0
  br i1 %215, label %216, label %221

216:
  %217 = getelementptr inbounds nuw i8, ptr %110, i64 16
  %218 = load ptr, ptr %217, align 8
  %219 = load ptr, ptr %82, align 8
  %220 = call i32 %218(ptr %219) #5
  br label %221

221:
  %222 = phi i32 [ %214, %213 ], [ %220, %216 ]
  %223 = icmp eq i32 %222, 0
  br i1 %223, label %226, label %224

224:
  %225 = add i32 %222, 1048576
  br label %251

226:
  %227 = load i64, ptr %153, align 8
  %228 = load i64, ptr %154, align 8
  %229 = icmp slt i64 %227, %228
  br i1 %229, label %230, label %250

230:
  %231 = getelementptr inbounds nuw i8, ptr %110, i64 32
  %232 = getelementptr inbounds nuw i8, ptr %106, i64 8
  br label %233

233:
  %234 = phi i64 [ %227, %230 ], [ %247, %233 ]
  %235 = phi i64 [ %136, %230 ], [ %246, %233 ]
  %236 = load ptr, ptr %231, align 8
  %237 = getelementptr inbounds [8 x ptr], ptr %14, i64 0, i64 %234
  %238 = load ptr, ptr %237, align 8
  %239 = load ptr, ptr %232, align 8
  %240 = getelementptr inbounds i8, ptr %239, i64 %235
  %241 = getelementptr inbounds [8 x i64], ptr %5, i64 0, i64 %234
  %242 = load i64, ptr %241, align 8
  %243 = call ptr %236(ptr %238, ptr %240, i64 %242) #5
  %244 = add i64 %242, 255
  %245 = and i64 %244, -256
  %246 = add i64 %245, %235
  %247 = add nsw i64 %234, 1
  %248 = load i64, ptr %154, align 8
  %249 = icmp slt i64 %247, %248
  br i1 %249, label %233, label %250

250:
  store atomic i64 0, ptr %106 release, align 8
  br label %251

251:
  %252 = phi i32 [ %225, %224 ], [ 0, %250 ], [ -2, %199 ], [ -2, %193 ]
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %4)
  br label %253

253:
  %254 = phi i32 [ -2, %74 ], [ %252, %251 ], [ -3, %105 ]
  %255 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %256 = load ptr, ptr %255, align 8
  call void %256(ptr %78) #5
  %257 = getelementptr inbounds nuw i8, ptr %0, i64 88
  br label %258

258:
  %259 = phi i64 [ 0, %253 ], [ %266, %265 ]
  %260 = getelementptr inbounds nuw [8 x ptr], ptr %13, i64 0, i64 %259
  %261 = load ptr, ptr %260, align 8
  %262 = icmp eq ptr %261, null
  br i1 %262, label %265, label %263

263:
  %264 = load ptr, ptr %257, align 8
  call void %264(ptr nonnull %261) #5
  br label %265

265:
  %266 = add nuw nsw i64 %259, 1
  %267 = load i64, ptr %75, align 8
  %268 = icmp slt i64 %266, %267
  br i1 %268, label %258, label %269

269:
  %270 = phi i32 [ %254, %265 ], [ -2, %46 ], [ -2, %54 ], [ -2, %16 ]
  ret i32 %270
}

define internal fastcc ptr @describe(ptr nocapture readonly %0, ptr nocapture nonnull readonly %1, ptr nonnull %2) unnamed_addr #1 {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %7 = load i64, ptr %6, align 8
  %8 = tail call ptr %5(ptr nonnull %2, i64 %7) #5
  %9 = icmp eq ptr %8, null
  br i1 %9, label %29, label %10

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %12 = load ptr, ptr %11, align 8
  %13 = tail call ptr %12(i64 2) #5
  %14 = icmp eq ptr %13, null
  br i1 %14, label %15, label %18

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %17 = load ptr, ptr %16, align 8
  tail call void %17(ptr nonnull %8) #5
  br label %29

18:
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %22 = load ptr, ptr %21, align 8
  tail call void %20(ptr %22) #5
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %24 = load ptr, ptr %23, align 8
  %25 = load ptr, ptr %21, align 8
  %26 = tail call i32 %24(ptr nonnull %13, i64 0, ptr %25) #5
  %27 = load ptr, ptr %23, align 8
  %28 = tail call i32 %27(ptr nonnull %13, i64 1, ptr nonnull %8) #5
  br label %29

29:
  %30 = phi ptr [ %13, %18 ], [ null, %15 ], [ null, %3 ]
  ret ptr %30
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #3

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #3

declare i64 @llvm.smax.i64(i64, i64) #4

attributes #0 = { nounwind "no-builtins" "no-jump-tables"="true" }
attributes #1 = { noinline nounwind "no-builtins" "no-jump-tables"="true" }
attributes #2 = { nofree noinline norecurse nosync nounwind memory(argmem: read) "no-builtins" "no-jump-tables"="true" }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #4 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nobuiltin nounwind "no-builtins" }
attributes #6 = { nobuiltin "no-builtins" }
